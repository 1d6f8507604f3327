#include "check/diagnosis/large_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/check_attention.h"
#include "check/problems.h"

namespace attn {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

AttentionProblem causal_problem() {
  AttentionProblem problem = random_problem(
      {.batch = 2, .heads = 4, .kv_heads = 2, .q_len = 90, .kv_len = 90, .head_dim = 8}, 61);
  problem.rules.causal = true;
  return problem;
}

Tensor<double> out_of(const AttentionProblem& problem) {
  return plain_attention(problem, DType::kF32, PlainOrder::kTiled, false, false, 1).out;
}

// As a case too large for its maps is checked.
AttentionReport report_in_parts(const AttentionCase& recorded) {
  return check_attention(recorded, {.threads = 2, .part_bytes = 1});
}

TEST(LargeDiagnosis, TriesSomeRowsAndThenTheWinnerOnAll) {
  AttentionCase recorded;
  recorded.problem = causal_problem();
  AttentionProblem open = recorded.problem;
  open.rules.causal = false;
  recorded.out = out_of(open);
  const AttentionReport report = report_in_parts(recorded);
  EXPECT_THAT(names_of(report.verdict.diagnosis), Contains("causal-missing"));
  EXPECT_THAT(report.remarks, Contains(HasSubstr(": found on 256 rows, holds on all "
                                                 "720")));
}

TEST(LargeDiagnosis, KeepsTheHeadsTogetherThatAMistakeMixes) {
  AttentionCase recorded;
  recorded.problem = causal_problem();
  AttentionProblem tiled = recorded.problem;
  const Index size = 90 * 8;
  for (Tensor<double>* tensor : {&tiled.k, &tiled.v}) {
    Tensor<double> wide({2, 4, 90, 8});
    for (Index head = 0; head < 8; ++head) {
      std::copy_n(tensor->data() + (head / 4 * 2 + head % 2) * size, size,
                  wide.data() + head * size);
    }
    *tensor = std::move(wide);
  }
  recorded.out = out_of(tiled);
  EXPECT_THAT(names_of(report_in_parts(recorded).verdict.diagnosis), Contains("gqa-tiled"));
}

TEST(LargeDiagnosis, SaysWhereTheWinnerDoesNotHold) {
  AttentionCase recorded;
  recorded.problem = causal_problem();
  AttentionProblem open = recorded.problem;
  open.rules.causal = false;
  recorded.out = out_of(recorded.problem);
  // One sequence alone sees the future, as where the last block of a batch is launched otherwise.
  const Tensor<double> wrong = out_of(open);
  const Index half = wrong.size() / 2;
  std::copy_n(wrong.data() + half, half, recorded.out->data() + half);
  const AttentionReport report = report_in_parts(recorded);
  EXPECT_EQ(report.verdict.outcome(), Outcome::kFail);
  EXPECT_THAT(report.remarks, ::testing::Not(Contains(HasSubstr("holds on all"))));
}

TEST(LargeDiagnosis, ChoosesRowsAroundTheWorst) {
  AttentionCase outline;
  AttentionProblem& problem = outline.problem;
  const auto shape = [](Tensor<double>& tensor, Shape extents) {
    tensor.shape = std::move(extents);
  };
  shape(problem.q, {8, 8, 8192, 128});
  shape(problem.k, {8, 8, 8192, 128});
  shape(problem.v, {8, 8, 8192, 128});
  const CasePart all_heads = part_to_diagnose(outline, {3, 5, 8190, 7});
  EXPECT_EQ(all_heads.kv_heads, 8);
  EXPECT_EQ(all_heads.batches, 2);
  EXPECT_EQ(all_heads.rows, 16);
  EXPECT_EQ(all_heads.keys, 8192);
  EXPECT_EQ(all_heads.end_row(), 8192);
  EXPECT_LE(all_heads.batch, 3);
  // A million tokens in a window: keys in sight and some beside them.
  shape(problem.q, {1, 2, 1 << 20, 64});
  shape(problem.k, {1, 2, 1 << 20, 64});
  shape(problem.v, {1, 2, 1 << 20, 64});
  problem.rules.causal = true;
  problem.rules.window_left = 4095;
  const CasePart window = part_to_diagnose(outline, {0, 1, 500000});
  EXPECT_EQ(window.kv_head, 1);
  EXPECT_LE(window.row, 500000);
  EXPECT_GT(window.end_row(), 500000);
  EXPECT_LT(window.key, window.row - 4095);
  EXPECT_LE(window.keys * window.rows, kMostDiagnosed);
}

}  // namespace
}  // namespace attn
