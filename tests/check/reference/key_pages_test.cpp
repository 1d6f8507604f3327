#include "check/reference/key_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "check/case_alternatives.h"
#include "check/cases/case_file.h"
#include "check/cases/case_part.h"
#include "check/check_attention.h"
#include "check/mistakes/suppositions.h"
#include "check/problems.h"
#include "check/verdict/explanations.h"
#include "core/error.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Three pages of two rows; each number says its page, row and head: 210 is page 2, row 1, head 0.
KeyPages by_hand() {
  KeyPages pages;
  pages.k = Tensor<double>({3, 2, 2, 1});
  for (Index page = 0; page < 3; ++page) {
    for (Index h = 0; h < 2; ++h) {
      for (Index slot = 0; slot < 2; ++slot) {
        pages.k.data()[(page * 2 + h) * 2 + slot] = static_cast<double>(100 * page + 10 * slot + h);
      }
    }
  }
  pages.v = pages.k;
  pages.table = Tensor<Index>({2, 2}, {2, 0, 1, -1});
  pages.lens = {3, 2};
  return pages;
}

TEST(KeyPages, GatherRowsByTheTable) {
  const KeyPages pages = by_hand();
  const Tensor<double> rows = gathered(pages, pages.k, all_keys(pages, 3), page_by_table);
  EXPECT_EQ(rows.shape, (Shape{2, 2, 3, 1}));
  // The second sequence ends after its first page: there is no other.
  EXPECT_THAT(rows.values, ElementsAre(200, 210, 0, 201, 211, 1, 100, 110, 0, 101, 111, 0));
  const Tensor<double> part = gathered(pages, pages.k, {0, 1, 1, 1, 1, 2}, page_by_table);
  EXPECT_THAT(part.values, ElementsAre(211, 1));
}

TEST(KeyPages, PackedSequencesFollowEachOther) {
  KeyPages pages = by_hand();
  pages.packed = true;
  const Tensor<double> rows = gathered(pages, pages.k, all_keys(pages, 5), page_by_table);
  EXPECT_THAT(rows.values, ElementsAre(200, 210, 0, 100, 110, 201, 211, 1, 101, 111));
}

TEST(KeyPages, EveryLayoutOfAPoolIsTheSamePool) {
  const KeyPages pages = by_hand();
  Tensor<double> nhd({3, 2, 2, 1}, {0, 1, 10, 11, 100, 101, 110, 111, 200, 201, 210, 211});
  EXPECT_EQ(to_pages(nhd, PagesLayout::kNhd).values, pages.k.values);
  EXPECT_EQ(to_pages(pages.k, PagesLayout::kHnd).values, pages.k.values);
  // One head, two groups of two features, two rows: rows stand between the groups.
  const Tensor<double> split({1, 1, 2, 2, 2}, {0, 1, 10, 11, 2, 3, 12, 13});
  EXPECT_THAT(to_pages(split, PagesLayout::kVllm).values, ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
  const Tensor<double> columns({1, 1, 3, 2}, {0, 10, 1, 11, 2, 12});
  EXPECT_THAT(to_pages(columns, PagesLayout::kVllm).values, ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_THROW(to_pages(Tensor<double>({2, 2}), PagesLayout::kNhd), DataError);
  EXPECT_EQ(parse_pages_layout("HND"), PagesLayout::kHnd);
  EXPECT_EQ(parse_pages_layout("nhdx"), std::nullopt);
}

// One sequence of three keys, with whatever a test changes.
struct PagedFile {
  Tensor<double> k{{3, 2, 1, 2}, {0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 9, 9}};
  Tensor<double> v = k;
  Tensor<double> table{{1, 3}, {1, 2, -7}};
  Tensor<double> lens{{1}, {3}};
  bool linear_too = false;
  bool with_lens = true;

  AttentionCase read() const {
    Hdf5Writer writer;
    writer.dataset("/q", three_tokens().q);
    writer.dataset("/k_pages", k);
    writer.dataset("/v_pages", v);
    writer.dataset("/block_table", table);
    if (with_lens) writer.dataset("/kv_lens", lens);
    if (linear_too) writer.dataset("/v", v);
    const Hdf5Image image = writer.finish();
    const auto bytes = image.bytes();
    const TensorFile file = TensorFile::from_bytes({bytes.begin(), bytes.end()}, "case.h5");
    return read_case(file, read_case_attributes(file), {});
  }
  std::string complaint() const {
    try {
      read();
    } catch (const DataError& error) {
      return error.what();
    }
    return "nothing";
  }
};

TEST(CasePages, AreReadAsTheSameKeysInARow) {
  const AttentionCase recorded = PagedFile().read();
  EXPECT_EQ(recorded.problem.k.values, three_tokens().k.values);
  EXPECT_EQ(recorded.problem.v.values, three_tokens().v.values);
  EXPECT_THAT(recorded.problem.kv_lens, ElementsAre(3));
  EXPECT_EQ(recorded.problem.pages->page_size(), 2);
  EXPECT_THAT(recorded.assumed.front(), HasSubstr("pages NHD"));
}

TEST(CasePages, AnythingMayStandBeyondTheEnd) {
  // -1 that was written without a sign, and what a float table is filled with.
  for (const double filler : {18446744073709551615.0, std::nan(""), 0.5, 7.0}) {
    PagedFile file;
    file.table.values[2] = filler;
    EXPECT_EQ(file.read().problem.k.values, three_tokens().k.values) << filler;
    file.table.values[1] = filler;
    EXPECT_THAT(file.complaint(), HasSubstr("case.h5: block_table: ")) << filler;
  }
}

TEST(CasePages, AreRefusedByName) {
  const auto changed = [](const auto& change) {
    PagedFile file;
    change(file);
    return file.complaint();
  };
  EXPECT_EQ(changed([](PagedFile& f) { f.table.values[1] = 3; }),
            "case.h5: block_table: page 3 at (0, 1) is outside of the pool of 3 pages");
  EXPECT_EQ(changed([](PagedFile& f) { f.table.values[0] = -1; }),
            "case.h5: block_table: page -1 at (0, 0) is outside of the pool of 3 pages");
  EXPECT_EQ(changed([](PagedFile& f) { f.table.values[0] = 0.5; }),
            "case.h5: block_table: want the number of a page, got 0.5 at (0, 0)");
  EXPECT_EQ(changed([](PagedFile& f) {
              f.table = Tensor<double>({1, 1}, {1});
            }),
            "case.h5: block_table: is too short: 3 keys of sequence 0 take 2 pages of 2, and it "
            "has 1");
  EXPECT_EQ(changed([](PagedFile& f) {
              f.table = Tensor<double>({1, 1, 1}, {1});
            }),
            "case.h5: block_table: want (batch, blocks), got shape (1, 1, 1)");
  EXPECT_EQ(changed([](PagedFile& f) { f.lens.values[0] = -3; }),
            "case.h5: kv_lens: want lengths of 0 or more, got -3");
  EXPECT_EQ(changed([](PagedFile& f) { f.with_lens = false; }),
            "case.h5: kv_lens: is needed with block_table: how many keys each sequence has");
  EXPECT_EQ(changed([](PagedFile& f) { f.linear_too = true; }),
            "case.h5: v: stands beside v_pages: want keys and values in pages, or one behind "
            "another");
  EXPECT_THAT(changed([](PagedFile& f) {
                f.v = Tensor<double>({2, 2, 1, 2});
              }),
              HasSubstr("v_pages: want as many pages, heads and rows as k_pages, (3, 1, 2, 2), got "
                        "(2, 1, 2, 2)"));
  EXPECT_THAT(changed([](PagedFile& f) {
                f.table = Tensor<double>({2, 2}, {1, 2, 0, 0});
                f.lens = Tensor<double>({2}, {3, 3});
              }),
              HasSubstr("block_table: want a row for each of 1 sequences of q, got 2"));
}

TEST(CasePages, WithoutLengthsAllRowsOfAFullTableCount) {
  PagedFile file;
  file.with_lens = false;
  file.table = Tensor<double>({1, 2}, {1, 2});
  const AttentionCase recorded = file.read();
  EXPECT_EQ(recorded.problem.kv_len(), 4);
  EXPECT_THAT(recorded.problem.kv_lens, ElementsAre(4));
  EXPECT_THAT(recorded.assumed.front(), HasSubstr("kv_lens all rows of all pages"));
  file.table.values[1] = 3;
  EXPECT_THAT(file.complaint(), HasSubstr("page 3 at (0, 1) is outside"));
}

TEST(CasePages, ATableThatNamesOnePageOftenIsHeldToTheLimit) {
  Hdf5Writer writer;
  writer.dataset("/q", three_tokens().q);
  writer.dataset("/k_pages", Tensor<double>({1, 2, 1, 2}));
  writer.dataset("/v_pages", Tensor<double>({1, 2, 1, 2}));
  writer.dataset("/block_table", Tensor<std::uint8_t>({1, 40000}));
  writer.dataset("/kv_lens", Tensor<std::int32_t>({1}, {80000}));
  const Hdf5Image image = writer.finish();
  const auto bytes = image.bytes();
  const TensorFile file = TensorFile::from_bytes({bytes.begin(), bytes.end()}, "case.h5");
  EXPECT_THROW(read_case(file, {}, {}, {.max_bytes = Index{1} << 20}), DataError);
  EXPECT_EQ(read_case(file, {}, {}).problem.kv_len(), 80000);
}

AttentionProblem three_sequences() {
  AttentionProblem problem = random_problem(
      {.batch = 3, .heads = 4, .kv_heads = 2, .q_len = 3, .kv_len = 14, .value_dim = 5}, 71);
  problem.rules.causal = true;
  problem.rules.causal_alignment = CausalAlignment::kBottomRight;
  problem.kv_lens = {14, 6, 9};
  return in_pages(problem, 4, 72);
}

AttentionCase with_out(const AttentionProblem& problem, const Supposition& supposed) {
  AttentionCase recorded;
  recorded.problem = problem;
  recorded.out = supposed.answer(problem, 1).out;
  for (double& value : recorded.out->values) {
    value = static_cast<double>(static_cast<float>(value));
  }
  return recorded;
}

TEST(PageMistakes, AreFoundByTheirNames) {
  const AttentionProblem problem = three_sequences();
  const Tensor<double> rows = gathered(*problem.pages, problem.pages->k,
                                       all_keys(*problem.pages, problem.kv_len()), page_by_table);
  for (Index b = 0; b < 3; ++b) {
    for (Index j = 0; j < problem.kv_lens[static_cast<std::size_t>(b)]; ++j) {
      const Index at = (b * 2 * 14 + j) * 8;  // of head 0
      ASSERT_EQ(rows.data()[at], problem.k.data()[at]);
    }
  }
  std::set<std::string> found;
  for (const Supposition& supposed : suppositions(problem)) {
    const bool of_pages = supposed.name.rfind("page", 0) == 0 ||
                          supposed.detail.find("block_table") != std::string::npos ||
                          supposed.detail.find("last page") != std::string::npos;
    if (!of_pages) continue;
    const AttentionReport report = check_attention(with_out(problem, supposed), {});
    if (report.verdict.checks.front().outcome == Outcome::kPass) continue;
    EXPECT_THAT(names_of(report.verdict.diagnosis), Contains(supposed.name)) << supposed.detail;
    found.insert(supposed.name);
  }
  EXPECT_THAT(found, ElementsAre("batch-reuse", "padding-ignored", "page-order", "page-size",
                                 "page-table-ignored"));
  for (const std::string& name : found) EXPECT_NE(find_explanation(name), nullptr);
}

// Kernels of half precision: numbers and pools in f16, out as a kernel would round it.
TEST(PageMistakes, AreFoundInHalfPrecisionToo) {
  const auto rounded = [](Tensor<double> tensor) {
    for (double& value : tensor.values)
      value = f16_to_float(float_to_f16(static_cast<float>(value)));
    return tensor;
  };
  AttentionProblem problem = three_sequences();
  problem.rules.dtype = DType::kF16;
  KeyPages pages = *problem.pages;
  pages.k = rounded(pages.k);
  pages.v = rounded(pages.v);
  problem.q = rounded(problem.q);
  problem.k = rounded(problem.k);
  problem.v = rounded(problem.v);
  problem.pages = std::make_shared<const KeyPages>(std::move(pages));
  std::set<std::string> found;
  for (const Supposition& supposed : suppositions(problem)) {
    const bool of_pages = supposed.name.rfind("page", 0) == 0 ||
                          supposed.detail.find("block_table") != std::string::npos ||
                          supposed.detail.find("last page") != std::string::npos ||
                          supposed.detail.find("pages are") != std::string::npos;
    if (!of_pages) continue;
    AttentionCase recorded;
    recorded.problem = problem;
    recorded.stored.out = DType::kF16;
    for (const bool round_scores : {false, true}) {
      recorded.out = plain_attention(supposed.as_seen(problem), DType::kF16, PlainOrder::kTiled,
                                     round_scores, false, 1)
                         .out;
      const AttentionReport report = check_attention(recorded, {});
      if (report.verdict.checks.front().outcome == Outcome::kPass) continue;
      EXPECT_THAT(names_of(report.verdict.diagnosis), Contains(supposed.name))
          << supposed.detail << (round_scores ? ", scores rounded" : "");
      found.insert(supposed.name);
    }
  }
  EXPECT_THAT(found, ElementsAre("batch-reuse", "head-layout", "padding-ignored", "page-order",
                                 "page-size", "page-table-ignored"));
}

TEST(PageMistakes, TheRestOfTheLastPageIsPadding) {
  AttentionProblem problem = random_problem({.batch = 2, .q_len = 1, .kv_len = 9}, 73);
  problem.kv_lens = {9, 6};
  problem = in_pages(problem, 8, 74);
  for (const Supposition& supposed : suppositions(problem)) {
    if (supposed.detail != "each sequence is read to the end of its last page") continue;
    const AttentionReport report = check_attention(with_out(problem, supposed), {});
    ASSERT_FALSE(report.verdict.diagnosis.empty());
    EXPECT_EQ(report.verdict.diagnosis.front().name, "padding-ignored");
    return;
  }
  FAIL() << "nobody supposes it";
}

// A part of a case supposes of its rows what the whole supposes of them.
TEST(PageMistakes, PartsReadTheWholesPages) {
  AttentionCase whole;
  whole.problem = three_sequences();
  CasePart place = whole_of(whole.problem);
  place.batch = 1;
  place.batches = 2;
  place.kv_head = 1;
  place.kv_heads = 1;
  place.row = 1;
  place.rows = 2;
  const AttentionCase part = CaseInMemory(whole).part(place);
  int compared = 0;
  const std::vector<Supposition> of_part = suppositions(part.problem);
  for (const Supposition& supposed : suppositions(whole.problem)) {
    if (supposed.name.rfind("page", 0) != 0) continue;
    for (const Supposition& other : of_part) {
      if (other.name != supposed.name || other.detail != supposed.detail) continue;
      const Tensor<double> all = supposed.answer(whole.problem, 1).out;
      EXPECT_EQ(box_of(all, {1, 2, 1, 0}, {2, 2, 2, 5}).values,
                other.answer(part.problem, 1).out.values)
          << supposed.detail;
      ++compared;
    }
  }
  EXPECT_GT(compared, 20);
}

// Pages of as many rows as heads may be either; the other way round is offered.
TEST(CasePages, WhatWouldPassIsSaid) {
  AttentionCase recorded;
  recorded.problem = in_pages(random_problem({.heads = 2, .q_len = 2, .kv_len = 8}, 75), 2, 76);
  Supposition wrong;
  wrong.as_seen = [](const AttentionProblem& problem) {
    AttentionProblem other = problem;
    KeyPages pages = *problem.pages;
    pages.k = swap_layout(pages.k);
    pages.v = swap_layout(pages.v);
    other.k = gathered(pages, pages.k, all_keys(pages, 8), page_by_table);
    other.v = gathered(pages, pages.v, all_keys(pages, 8), page_by_table);
    return other;
  };
  recorded.out = wrong.answer(recorded.problem, 1).out;
  EXPECT_THAT(what_would_pass(recorded, {}, 1), Contains("--pages-layout hnd"));
}

}  // namespace
}  // namespace attn
