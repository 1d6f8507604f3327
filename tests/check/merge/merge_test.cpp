#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "check/cases/case_part.h"
#include "check/merge/merge_answers.h"
#include "check/merge/merge_case.h"
#include "check/merge/merge_check.h"
#include "check/merge/merge_whole.h"
#include "check/problems.h"
#include "check/reference/reference_attention.h"
#include "check/verdict/explanations.h"
#include "core/error.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

PartialAnswer one_row(std::vector<double> out, double lse) {
  const auto features = static_cast<Index>(out.size());
  return {Tensor<double>({1, 1, 1, features}, std::move(out)), Tensor<double>({1, 1, 1}, {lse})};
}

// Keys first .. first + count - 1 of a problem, where its queries see what they saw of them.
AttentionProblem some_keys(const AttentionProblem& whole, Index first, Index count) {
  AttentionProblem part = whole;
  const auto rows = [&](const Tensor<double>& tensor) {
    return box_of(tensor, {0, 0, first, 0}, {tensor.dim(0), tensor.dim(1), count, tensor.dim(3)});
  };
  part.k = rows(whole.k);
  part.v = rows(whole.v);
  if (whole.mask && whole.mask->dim(3) > 1) {
    const Tensor<double>& mask = *whole.mask;
    part.mask = box_of(mask, {0, 0, 0, first}, {mask.dim(0), mask.dim(1), mask.dim(2), count});
  }
  for (Index& length : part.kv_lens) length = std::clamp<Index>(length - first, 0, count);
  part.rules.causal_offset = sight_of(whole, 0, 0).position - first;
  return part;
}

PartialAnswer answer_to(const AttentionProblem& problem) {
  AttentionAnswer answer = reference_attention(problem, false, 1);
  return {std::move(answer.out), std::move(answer.lse)};
}

// Answers of float64 are equal to some of its roundings: sums of a hundred numbers, of size 1
// to 10.
void expect_equal(const PartialAnswer& given, const PartialAnswer& wanted) {
  EXPECT_LT(difference(given.out, wanted.out).max_error, 1e-13);
  EXPECT_LT(difference(given.lse, wanted.lse).max_error, 1e-12);
}

TEST(Merge, WeighsByTheLogSumExp) {
  // Scores log 1 and log 3 with values 1 and 5; then log 4 with value 9.
  const PartialAnswer first = one_row({4}, std::log(4.0));
  const PartialAnswer second = one_row({9}, std::log(4.0));
  const PartialAnswer all = merge_answers({first, second}, FullyMasked::kZero);
  EXPECT_DOUBLE_EQ(all.out.values[0], 6.5);
  EXPECT_DOUBLE_EQ(all.lse.values[0], std::log(8.0));
  const PartialAnswer more = merge_answers({all, one_row({1}, 0)}, FullyMasked::kZero);
  EXPECT_DOUBLE_EQ(more.out.values[0], (8 * 6.5 + 1) / 9);
}

TEST(Merge, HoldsScoresThatExpDoesNot) {
  const PartialAnswer all =
      merge_answers({one_row({1}, 5000), one_row({3}, 5000)}, FullyMasked::kZero);
  EXPECT_DOUBLE_EQ(all.out.values[0], 2);
  EXPECT_DOUBLE_EQ(all.lse.values[0], 5000 + std::log(2.0));
  const PartialAnswer low =
      merge_answers({one_row({1}, -5000), one_row({3}, -4000)}, FullyMasked::kZero);
  EXPECT_DOUBLE_EQ(low.out.values[0], 3);
}

TEST(Merge, LeavesEmptyPartsOut) {
  const PartialAnswer empty = one_row({kNan}, -kInfinity);
  const PartialAnswer all = merge_answers({empty, one_row({7}, 2), empty}, FullyMasked::kZero);
  EXPECT_EQ(all.out.values[0], 7);
  EXPECT_EQ(all.lse.values[0], 2);
  const PartialAnswer none = merge_answers({empty, empty}, FullyMasked::kZero);
  EXPECT_EQ(none.out.values[0], 0);
  EXPECT_EQ(none.lse.values[0], -kInfinity);
  EXPECT_TRUE(std::isnan(merge_answers({empty, empty}, FullyMasked::kNan).out.values[0]));
  // An empty result stays the neutral element.
  EXPECT_EQ(merge_answers({none, one_row({7}, 2)}, FullyMasked::kZero).out.values[0], 7);
}

TEST(Merge, APartWithoutWeightSpoilsNothing) {
  const PartialAnswer all =
      merge_answers({one_row({1}, 0), one_row({kInfinity}, -800)}, FullyMasked::kZero);
  EXPECT_EQ(all.out.values[0], 1) << "exp(-800) is 0: its out counts for nothing";
}

// Any problem there is, cut anywhere, in any order and nesting.
TEST(Merge, PartsOfTheKeysMakeTheWhole) {
  int cut_in_two = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    AttentionProblem whole = any_problem(seed);
    if (!whole.cu_seqlens_q.empty() || !whole.sinks.empty() || whole.kv_len() < 3) continue;
    // One offset for all sequences, as a part's is.
    if (!whole.kv_lens.empty()) whole.rules.causal_offset = 4;
    const PartialAnswer wanted = answer_to(whole);
    Rng rng(seed, RandomPurpose::kExample, 9);
    const Index a = rng.below(whole.kv_len());
    const Index b = a + rng.below(whole.kv_len() - a);
    const PartialAnswer first = answer_to(some_keys(whole, 0, a));
    const PartialAnswer second = answer_to(some_keys(whole, a, b - a));
    const PartialAnswer third = answer_to(some_keys(whole, b, whole.kv_len() - b));
    const FullyMasked empty = whole.rules.fully_masked;
    expect_equal(merge_answers({first, second, third}, empty), wanted);
    expect_equal(merge_answers({third, first, second}, empty), wanted);
    expect_equal(merge_answers({merge_answers({first, second}, empty), third}, empty), wanted);
    expect_equal(merge_answers({first, merge_answers({second, third}, empty)}, empty), wanted);
    ++cut_in_two;
  }
  EXPECT_GT(cut_in_two, 15);
}

// A file of a part, with its keys or without.
MergeFile file_of(const AttentionProblem& problem, const std::string& name, bool with_keys) {
  MergeFile file;
  file.name = name;
  file.has_keys = with_keys;
  if (with_keys) {
    file.recorded.problem = problem;
  } else {
    file.recorded.problem.rules = problem.rules;
  }
  PartialAnswer answer = answer_to(problem);
  for (double& value : answer.out.values) value = static_cast<double>(static_cast<float>(value));
  file.recorded.out = std::move(answer.out);
  file.recorded.lse = std::move(answer.lse);
  file.recorded.stored.out = DType::kF32;
  return file;
}

AttentionProblem grouped_problem() {
  return random_problem({.batch = 2, .heads = 4, .kv_heads = 2, .q_len = 3, .kv_len = 20}, 81);
}

std::vector<MergeFile> two_parts(const AttentionProblem& whole, bool with_keys) {
  return {file_of(some_keys(whole, 0, 7), "a.h5", with_keys),
          file_of(some_keys(whole, 7, 13), "b.h5", with_keys)};
}

TEST(CheckMerge, KeysOfTheirOwnAreJoined) {
  AttentionProblem whole = grouped_problem();
  const WholeProblem open = whole_of_parts(two_parts(whole, true));
  ASSERT_TRUE(open.problem && open.joined);
  EXPECT_EQ(open.problem->k.values, whole.k.values);
  EXPECT_EQ(check_merge(two_parts(whole, true), {}, 1).verdict.outcome(), Outcome::kPass);
  // A diagonal that goes on through the parts is found again.
  whole.rules.causal = true;
  whole.rules.causal_alignment = CausalAlignment::kBottomRight;
  whole.rules.window_left = 15;
  whole.alibi_slopes = {0.1, 0.2, 0.3, 0.4};
  const WholeProblem causal = whole_of_parts(two_parts(whole, true));
  ASSERT_TRUE(causal.problem) << causal.missing;
  for (Index i = 0; i < 3; ++i) {
    EXPECT_EQ(sight_of(*causal.problem, 1, i).first, sight_of(whole, 1, i).first);
    EXPECT_EQ(sight_of(*causal.problem, 1, i).end, sight_of(whole, 1, i).end);
  }
  EXPECT_EQ(check_merge(two_parts(whole, true), {}, 1).verdict.outcome(), Outcome::kPass);
}

TEST(CheckMerge, LengthsOfThePartsAddUp) {
  AttentionProblem whole = grouped_problem();
  whole.kv_lens = {20, 5};
  std::vector<MergeFile> parts = two_parts(whole, true);
  const WholeProblem joined = whole_of_parts(parts);
  ASSERT_TRUE(joined.problem) << joined.missing;
  EXPECT_THAT(joined.problem->kv_lens, ElementsAre(20, 5));
  EXPECT_EQ(check_merge(parts, {}, 1).verdict.outcome(), Outcome::kPass);
}

TEST(CheckMerge, DiagonalsThatDoNotGoOnHaveNoWhole) {
  AttentionProblem whole = grouped_problem();
  std::vector<MergeFile> parts = two_parts(whole, true);
  for (MergeFile& part : parts) {
    part.recorded.problem.rules.causal = true;
    part.recorded.problem.rules.causal_offset = 4;  // in both
  }
  EXPECT_FALSE(whole_of_parts(parts).problem);
  parts[1].recorded.problem.q.values[0] += 1;
  EXPECT_THROW(whole_of_parts(parts), DataError);
}

TEST(CheckMerge, LogarithmsOfBase2AreNamed) {
  const AttentionProblem whole = grouped_problem();
  MergeFile all;
  all.name = "whole.h5";
  all.has_keys = true;
  all.recorded.problem = whole;
  for (const int subset : {1, 2, 3}) {
    std::vector<MergeFile> parts = two_parts(whole, false);
    for (std::size_t p = 0; p < 2; ++p) {
      if ((subset >> p & 1) == 0) continue;
      for (double& value : parts[p].recorded.lse->values) value /= std::log(2.0);
    }
    const MergeReport found = check_merge(parts, all, 1);
    ASSERT_EQ(found.verdict.outcome(), Outcome::kFail);
    ASSERT_EQ(found.verdict.diagnosis.size(), 1U);
    EXPECT_EQ(found.verdict.diagnosis[0].name, "lse-base2");
    EXPECT_THAT(found.verdict.diagnosis[0].detail, HasSubstr(subset == 3   ? "all parts"
                                                             : subset == 1 ? "part 1"
                                                                           : "part 2"));
  }
}

TEST(CheckMerge, PartsOfBase2BesideARightWholeAreNamedOnce) {
  const AttentionProblem whole = grouped_problem();
  for (const bool whole_of_base2 : {false, true}) {
    MergeFile all = file_of(whole, "whole.h5", true);
    if (whole_of_base2) {
      for (double& value : all.recorded.lse->values) value /= std::log(2.0);
    }
    for (const int subset : {1, 2, 3}) {
      std::vector<MergeFile> parts = two_parts(whole, false);
      for (std::size_t p = 0; p < 2; ++p) {
        if ((subset >> p & 1) == 0) continue;
        for (double& value : parts[p].recorded.lse->values) value /= std::log(2.0);
      }
      const Verdict found = check_merge(parts, all, 1).verdict;
      EXPECT_THAT(names_of(found.diagnosis), ElementsAre("lse-base2"));
      for (const Check& check : found.checks) {
        const bool of_whole = check.name == "recorded: out" || check.name == "recorded: lse";
        if (!of_whole) continue;
        const bool wrong = whole_of_base2 && check.name == "recorded: lse";
        EXPECT_EQ(check.outcome, wrong ? Outcome::kFail : Outcome::kPass) << check.name;
      }
    }
  }
}

TEST(CheckMerge, MistakesOfMergingAreNamed) {
  const AttentionProblem whole = grouped_problem();
  std::vector<MergeFile> parts = {file_of(some_keys(whole, 0, 7), "a.h5", false),
                                  file_of(some_keys(whole, 7, 2), "b.h5", false),
                                  file_of(some_keys(whole, 9, 11), "c.h5", false)};
  // A row of one part saw nothing, as under a mask.
  parts[1].recorded.lse->values[5] = -kInfinity;
  std::fill_n(parts[1].recorded.out->data() + Index{5} * 8, 8, kNan);
  std::vector<PartialAnswer> answers;
  for (const MergeFile& part : parts) answers.push_back(part.answer());
  std::set<std::string> names;
  for (const MergeMistake& mistake : merge_mistakes(answers, FullyMasked::kZero)) {
    MergeFile recorded;
    recorded.name = "theirs.h5";
    recorded.recorded.out = mistake.answer.out;
    const MergeReport found = check_merge(parts, recorded, 1);
    ASSERT_EQ(found.verdict.outcome(), Outcome::kFail) << mistake.detail;
    EXPECT_THAT(names_of(found.verdict.diagnosis), testing::Contains(mistake.name))
        << mistake.detail;
    EXPECT_NE(find_explanation(mistake.name), nullptr) << mistake.name;
    names.insert(mistake.name);
  }
  EXPECT_THAT(names, ElementsAre("lse-base2", "merge-empty-part", "merge-not-normalised",
                                 "merge-part-lost", "merge-unweighted"));
}

TEST(CheckMerge, TheSameMergedByOthersPasses) {
  const std::vector<MergeFile> parts = two_parts(grouped_problem(), false);
  const PartialAnswer theirs =
      merge_answers_in_float({parts[0].answer(), parts[1].answer()}, FullyMasked::kZero);
  MergeFile recorded;
  recorded.recorded.out = theirs.out;
  recorded.recorded.lse = theirs.lse;
  EXPECT_EQ(check_merge(parts, recorded, 1).verdict.outcome(), Outcome::kPass);
  EXPECT_EQ(check_merge(parts, {}, 1).verdict.outcome(), Outcome::kNotChecked);
}

MergeFile read(const std::function<void(Hdf5Writer&)>& add) {
  Hdf5Writer writer;
  add(writer);
  const Hdf5Image image = writer.finish();
  const auto bytes = image.bytes();
  return read_merge_file(TensorFile::from_bytes({bytes.begin(), bytes.end()}, "a.h5"), {}, {});
}

std::string complaint(const std::function<void(Hdf5Writer&)>& add) {
  try {
    require_parts({read(add)});
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(MergeFiles, AreRefusedByName) {
  const Tensor<double> out({1, 2, 3, 4});
  const auto with = [&out](const Tensor<double>& lse) {
    return [&out, lse](Hdf5Writer& writer) {
      writer.dataset("/out", out);
      writer.dataset("/lse", lse);
    };
  };
  EXPECT_EQ(complaint(with(Tensor<double>({1, 2, 3}))), "nothing");
  EXPECT_THAT(complaint([&](Hdf5Writer& writer) { writer.dataset("/out", out); }),
              HasSubstr("a.h5: lse: is needed to merge"));
  EXPECT_THAT(complaint(with(Tensor<double>({1, 2, 2}))),
              HasSubstr("a.h5: lse: want (batch, heads, q_len) = (1, 2, 3), got (1, 2, 2)"));
  Tensor<double> bad({1, 2, 3});
  bad.values[4] = kInfinity;
  EXPECT_THAT(complaint(with(bad)), HasSubstr("got inf at batch 0, head 1, row 1"));
  bad.values[4] = kNan;
  EXPECT_THAT(complaint(with(bad)), HasSubstr("got nan at batch 0, head 1, row 1"));
}

TEST(MergeFiles, LseTellsTheLayoutOfOut) {
  const MergeFile file = read([](Hdf5Writer& writer) {
    writer.dataset("/out", Tensor<double>({1, 3, 2, 4}));
    writer.dataset("/lse", Tensor<double>({1, 2, 3}));
  });
  EXPECT_EQ(file.layout, TensorLayout::kBshd);
  EXPECT_EQ(file.recorded.out->shape, (Shape{1, 2, 3, 4}));
}

}  // namespace
}  // namespace attn
