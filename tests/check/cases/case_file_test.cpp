#include "check/cases/case_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "check/case_alternatives.h"
#include "check/cases/case_assumptions.h"
#include "check/problems.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The three tokens as a file, with whatever else a test adds.
TensorFile file_with(const std::function<void(Hdf5Writer&)>& add) {
  Hdf5Writer writer;
  const AttentionProblem problem = three_tokens();
  writer.dataset("/q", problem.q);
  writer.dataset("/k", problem.k);
  writer.dataset("/v", problem.v);
  add(writer);
  const Hdf5Image image = writer.finish();
  const auto bytes = image.bytes();
  return TensorFile::from_bytes({bytes.begin(), bytes.end()}, "case.h5");
}

AttentionCase case_with(const std::function<void(Hdf5Writer&)>& add, const CaseNames& names = {}) {
  const TensorFile reader = file_with(add);
  return read_case(reader, read_case_attributes(reader), names);
}

std::string complaint(const std::function<void(Hdf5Writer&)>& add) {
  try {
    case_with(add);
  } catch (const DataError& error) {
    std::string text = error.what();
    for (const std::string& hint : error.hints()) text += "; " + hint;
    return text;
  }
  return "nothing";
}

TEST(CaseFile, DefaultsArePlainAttention) {
  const AttentionCase recorded = case_with([](Hdf5Writer&) {});
  const AttentionRules& rules = recorded.problem.rules;
  EXPECT_EQ(rules.dtype, DType::kF32);
  EXPECT_FALSE(rules.causal || rules.scale || rules.causal_offset);
  EXPECT_EQ(rules.window_left, -1);
  EXPECT_FALSE(recorded.out || recorded.weights || recorded.probe);
  EXPECT_FALSE(recorded.alignment_given);
  EXPECT_EQ(recorded.problem.q.values, three_tokens().q.values);
}

TEST(CaseFile, ReadsEveryAttribute) {
  const AttentionCase recorded = case_with([](Hdf5Writer& writer) {
    writer.attribute("/", "format", "attn-case");
    writer.attribute("/", "format_version", 1);
    writer.attribute("/", "dtype", "bfloat16");
    writer.attribute("/", "scale", 0.5);
    writer.attribute("/", "causal", 1);
    writer.attribute("/", "causal_alignment", "bottom_right");
    writer.attribute("/", "causal_offset", 2);
    writer.attribute("/", "window_left", 3);
    writer.attribute("/", "window_right", 4);
    writer.attribute("/", "softcap", 30.0);
    writer.attribute("/", "mask_type", "additive");
    writer.attribute("/", "fully_masked", "nan");
    writer.attribute("/", "scores_stage", "raw");
    writer.attribute("/", "kv_heads", 1);
    writer.attribute("/", "history", "somebody wrote this");
  });
  const AttentionRules& rules = recorded.problem.rules;
  EXPECT_EQ(rules.dtype, DType::kBF16);
  EXPECT_EQ(rules.scale, 0.5);
  EXPECT_TRUE(rules.causal && recorded.alignment_given);
  EXPECT_EQ(rules.causal_alignment, CausalAlignment::kBottomRight);
  EXPECT_EQ(rules.causal_offset, 2);
  EXPECT_EQ(rules.window_left, 3);
  EXPECT_EQ(rules.window_right, 4);
  EXPECT_EQ(rules.softcap, 30);
  EXPECT_EQ(rules.mask_type, MaskType::kAdditive);
  EXPECT_EQ(rules.fully_masked, FullyMasked::kNan);
  EXPECT_EQ(recorded.scores_stage, ScoreStage::kRaw);
}

TEST(CaseFile, ReadsEveryDataset) {
  const AttentionCase recorded = case_with([](Hdf5Writer& writer) {
    const Tensor<float> out({1, 1, 3, 2});
    const Tensor<float> map({1, 1, 3, 3});
    writer.dataset("/out", out);
    writer.dataset("/out_perm", out);
    writer.dataset("/weights", map);
    writer.dataset("/scores", map);
    writer.dataset("/lse", Tensor<float>({1, 1, 3}));
    writer.dataset("/mask", Tensor<std::uint8_t>({1, 1, 1, 3}, {1, 0, 1}));
    writer.dataset("/kv_lens", Tensor<std::int32_t>({1}, {2}));
    writer.dataset("/cu_seqlens_q", Tensor<std::int32_t>({3}, {0, 1, 3}));
    writer.dataset("/cu_seqlens_k", Tensor<std::int32_t>({3}, {0, 2, 3}));
    writer.dataset("/alibi_slopes", Tensor<float>({1}, {0.5F}));
    writer.dataset("/sinks", Tensor<float>({1}, {2}));
    writer.dataset("/perm", Tensor<std::int32_t>({3}, {2, 0, 1}));
    writer.dataset("/causal_probe/k", three_tokens().k);
    writer.dataset("/causal_probe/v", three_tokens().v);
    writer.dataset("/causal_probe/out", out);
    writer.dataset("/causal_probe/first_changed_key", Tensor<std::int32_t>(Shape{}, {2}));
  });
  EXPECT_TRUE(recorded.out && recorded.out_perm && recorded.weights && recorded.scores);
  EXPECT_TRUE(recorded.lse && recorded.probe);
  EXPECT_THAT(recorded.problem.mask->values, ElementsAre(1, 0, 1));
  EXPECT_THAT(recorded.problem.kv_lens, ElementsAre(2));
  EXPECT_THAT(recorded.problem.cu_seqlens_k, ElementsAre(0, 2, 3));
  EXPECT_THAT(recorded.problem.alibi_slopes, ElementsAre(0.5));
  EXPECT_THAT(recorded.problem.sinks, ElementsAre(2));
  EXPECT_THAT(recorded.perm, ElementsAre(2, 0, 1));
  EXPECT_EQ(recorded.probe->first_changed_key, 2);
}

TEST(CaseFile, SwapsRowsAndHeadsOfTheOtherLayout) {
  const TensorFile reader = file_with([](Hdf5Writer& writer) {
    writer.attribute("/", "layout", "BSHD");
    writer.dataset("/out", Tensor<float>({1, 3, 1, 2}));  // three heads of one row
  });
  CaseAttributes attributes = read_case_attributes(reader);
  attributes.layout = TensorLayout::kBhsd;  // an option wins: one head of three rows
  EXPECT_THROW(read_case(reader, attributes, {}), DataError);
  attributes.layout = TensorLayout::kBshd;
  const AttentionCase recorded = read_case(reader, attributes, {{"out", "/q"}});
  EXPECT_THAT(recorded.problem.q.shape, ElementsAre(1, 3, 1, 2));
}

TEST(CaseFile, FindsDatasetsUnderOtherNames) {
  const AttentionCase recorded = case_with(
      [](Hdf5Writer& writer) {
        writer.dataset("/layer0/query", Tensor<double>({1, 1, 3, 2}, {6, 5, 4, 3, 2, 1}));
        writer.dataset("/other", Tensor<float>({1}));
      },
      {{"q", "/layer0/query"}});
  EXPECT_EQ(recorded.problem.q.values.front(), 6);
}

TEST(CaseFile, WhatItDoesNotKnowIsRefusedByName) {
  EXPECT_EQ(complaint([](Hdf5Writer& w) { w.attribute("/", "dropout", 0.1); }),
            "case.h5: attribute dropout is not supported");
  EXPECT_EQ(complaint([](Hdf5Writer& w) { w.attribute("/", "is_causal", 1); }),
            "case.h5: attribute is_causal is not supported; did you mean 'causal'?");
  EXPECT_EQ(complaint([](Hdf5Writer& w) { w.dataset("/bias", Tensor<float>({1})); }),
            "case.h5: dataset bias is not supported");
  EXPECT_THAT(complaint([](Hdf5Writer& w) { w.attribute("/", "format", "attn-posenc"); }),
              HasSubstr("want a file of format attn-case"));
  EXPECT_THAT(complaint([](Hdf5Writer& w) { w.attribute("/", "format_version", 2); }),
              HasSubstr("attribute format_version: want 1 to 1, got 2"));
}

TEST(CaseFile, AValueThatIsNoneIsRefused) {
  EXPECT_EQ(complaint([](Hdf5Writer& w) { w.attribute("/", "layout", "SBHD"); }),
            "case.h5: attribute layout: want BHSD, BSHD, NBD or BND, got 'SBHD'");
  EXPECT_THAT(complaint([](Hdf5Writer& w) { w.attribute("/", "dtype", "int8"); }),
              HasSubstr("attribute dtype: want"));
  EXPECT_THAT(complaint([](Hdf5Writer& w) { w.attribute("/", "dtype", "tf33"); }),
              HasSubstr("attribute dtype: want"));
  EXPECT_THAT(complaint([](Hdf5Writer& w) { w.attribute("/", "causal", 2); }),
              HasSubstr("attribute causal: want 0 to 1, got 2"));
  EXPECT_THAT(complaint([](Hdf5Writer& w) { w.attribute("/", "window_left", -2); }),
              HasSubstr("attribute window_left: want -1 to"));
  EXPECT_THAT(complaint([](Hdf5Writer& w) { w.attribute("/", "kv_heads", 4); }),
              HasSubstr("kv_heads says 4, but k has 1 heads"));
  EXPECT_THAT(complaint([](Hdf5Writer& w) { w.attribute("/", "softcap", -1.0); }),
              HasSubstr("case.h5: softcap"));
}

TEST(CaseFile, ShapesThatDoNotFitNameTheFile) {
  EXPECT_THAT(complaint([](Hdf5Writer& w) {
                w.dataset("/out", Tensor<float>({1, 1, 2, 2}));
              }),
              HasSubstr("case.h5: out: want (batch, heads, q_len, value_dim) = (1, 1, 3, 2)"));
  EXPECT_THAT(complaint([](Hdf5Writer& w) {
                w.dataset("/kv_lens", Tensor<float>({1, 1}));
              }),
              HasSubstr("case.h5: kv_lens: want one axis"));
}

TEST(CaseFile, MissingTensorsAreNamed) {
  Hdf5Writer writer;
  writer.dataset("/q", three_tokens().q);
  const Hdf5Image image = writer.finish();
  const auto bytes = image.bytes();
  const TensorFile reader = TensorFile::from_bytes({bytes.begin(), bytes.end()}, "half.h5");
  try {
    read_case(reader, {}, {});
    FAIL() << "a file without /k was read";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("half.h5: no dataset /k"));
  }
}

TEST(CaseAttributes, OptionsWinOverTheFile) {
  CaseAttributes file;
  file.causal = true;
  file.causal_offset = 3;
  file.scale = 0.25;
  CaseAttributes options;
  options.causal = false;
  options.causal_alignment = CausalAlignment::kTopLeft;
  const CaseAttributes both = merged(options, file);
  EXPECT_EQ(both.causal, false);
  EXPECT_EQ(both.scale, 0.25);
  EXPECT_FALSE(both.causal_offset) << "a corner replaces the file's offset";
}

// One sequence of 3 rows in BSHD with 4 heads: as BHSD the heads of k (3) would not be its
// kv_heads.
TEST(CaseFile, TheLayoutThatFitsIsAssumedAndSaid) {
  const auto assumed = [](Index rows, Index heads, Index kv_heads) {
    Hdf5Writer writer;
    writer.dataset("/q", Tensor<float>({1, rows, heads, 2}));
    writer.dataset("/k", Tensor<float>({1, rows, kv_heads, 2}));
    writer.dataset("/v", Tensor<float>({1, rows, kv_heads, 2}));
    writer.attribute("/", "kv_heads", kv_heads);
    const Hdf5Image image = writer.finish();
    const auto bytes = image.bytes();
    const TensorFile file = TensorFile::from_bytes({bytes.begin(), bytes.end()}, "case.h5");
    const AttentionCase recorded = read_case(file, read_case_attributes(file), {});
    EXPECT_EQ(recorded.problem.heads(), heads);
    return recorded.assumed.front();
  };
  EXPECT_THAT(assumed(3, 4, 2), HasSubstr("layout BSHD (BHSD does not fit)"));
  EXPECT_THAT(assumed(4, 4, 4), HasSubstr("assumed: layout BHSD, dtype f32, scale 0.7071"));
}

TEST(CaseFile, ATypeOfSixteenBitsIsAssumedWhereTheOutputIsStoredInIt) {
  CaseAttributes attributes;
  EXPECT_THAT(assume({}, DType::kF16, attributes),
              testing::Contains("dtype f16 (as it is stored)"));
  EXPECT_EQ(attributes.dtype, DType::kF16);
  attributes.dtype.reset();
  assume({}, DType::kF64, attributes);
  EXPECT_EQ(attributes.dtype, DType::kF32);
}

TEST(CaseFile, AMaskOfOtherNumbersIsAddedUnlessSomebodySaysOtherwise) {
  const auto file = [](Hdf5Writer& w) { w.dataset("/mask", Tensor<float>({1, 3}, {0, -1.5, 0})); };
  EXPECT_EQ(case_with(file).problem.rules.mask_type, MaskType::kAdditive);
  EXPECT_THAT(case_with(file).assumed.front(), HasSubstr("an additive mask"));
  EXPECT_THAT(complaint([&](Hdf5Writer& w) {
                file(w);
                w.attribute("/", "mask_type", "bool");
              }),
              HasSubstr("want 0 or 1"));
}

TEST(CaseFile, WhatIsSaidIsNotAssumed) {
  const AttentionCase recorded = case_with([](Hdf5Writer& writer) {
    writer.attribute("/", "layout", "BHSD");
    writer.attribute("/", "dtype", "float32");
    writer.attribute("/", "scale", 0.5);
    writer.attribute("/", "causal", 1);
    writer.attribute("/", "window_left", -1);
    writer.attribute("/", "softcap", 0.0);
  });
  EXPECT_TRUE(recorded.assumed.empty());
}

TEST(CaseFile, ATensorFromElsewhereStandsBesideTheFile) {
  const TensorFile file = file_with([](Hdf5Writer&) {});
  const AttentionCase recorded = read_case(file, {}, {{"mask", "1 0 0; 1 1 0; 1 1 1"}});
  EXPECT_THAT(recorded.problem.mask->shape, ElementsAre(1, 1, 3, 3));
}

TEST(CaseFile, ProbesMayHaveOtherNames) {
  const auto add = [](Hdf5Writer& writer) {
    writer.dataset("/second/k", three_tokens().k);
    writer.dataset("/values", three_tokens().v);
    writer.dataset("/second/out", three_tokens().v);
    writer.dataset("/second/first_changed_key", Tensor<Index>({}, {2}));
  };
  const AttentionCase recorded =
      case_with(add, {{"causal_probe", "/second"}, {"causal_probe/v", "/values"}});
  ASSERT_TRUE(recorded.probe);
  EXPECT_EQ(recorded.probe->first_changed_key, 2);
  EXPECT_EQ(recorded.probe->v.values, three_tokens().v.values);
}

// An output made under a causal mask, in a file that does not say so.
TEST(CaseFile, WhatWouldPassIsFound) {
  AttentionCase recorded = case_with([](Hdf5Writer&) {});
  AttentionProblem causal = recorded.problem;
  causal.rules.causal = true;
  recorded.out = reference_attention(causal, false, 1).out;
  EXPECT_THAT(what_would_pass(recorded, {}, 1), testing::Contains("--causal"));
  CaseAttributes given;
  given.causal = false;
  EXPECT_THAT(what_would_pass(recorded, given, 1), testing::Not(testing::Contains("--causal")));
}

}  // namespace
}  // namespace attn
