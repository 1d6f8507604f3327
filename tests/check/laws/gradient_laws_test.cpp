#include "check/laws/gradient_laws.h"

#include <gtest/gtest.h>

#include <limits>

#include "check/problems.h"

namespace attn {
namespace {

AttentionCase right_case(AttentionProblem problem) {
  Rng rng(3, RandomPurpose::kExample, 4);
  AttentionCase recorded;
  GradientRecord record;
  record.d_out =
      normal_tensor({problem.batch(), problem.heads(), problem.q_len(), problem.value_dim()}, rng);
  const AttentionGradient gradient = reference_gradient(problem, record.d_out, 1);
  record.d_q = gradient.d_q;
  record.d_k = gradient.d_k;
  record.d_v = gradient.d_v;
  recorded.problem = std::move(problem);
  recorded.gradient = std::move(record);
  return recorded;
}

// Float64 sums of some hundred terms.
constexpr double kUnit = 1e-13;

TEST(GradientLaws, HoldForARightGradientAndFailForAWrongOne) {
  AttentionProblem problem = random_problem({.heads = 4, .kv_heads = 2, .q_len = 7}, 61);
  problem.rules.dtype = DType::kF64;
  problem.kv_lens = {4};
  AttentionCase recorded = right_case(problem);
  EXPECT_EQ(hidden_gradients_zero(recorded).outcome, Outcome::kPass);
  EXPECT_EQ(d_v_sums_to_d_out(recorded, kUnit).outcome, Outcome::kPass);
  EXPECT_EQ(d_k_sums_to_zero(recorded, kUnit).outcome, Outcome::kPass);
  EXPECT_EQ(d_q_balances_d_k(recorded, kUnit, kUnit).outcome, Outcome::kPass);
  recorded.gradient->d_k->values[0] += 1e-6;
  recorded.gradient->d_v->values[0] += 1e-6;
  EXPECT_EQ(d_v_sums_to_d_out(recorded, kUnit).outcome, Outcome::kFail);
  EXPECT_EQ(d_k_sums_to_zero(recorded, kUnit).outcome, Outcome::kFail);
  EXPECT_EQ(d_q_balances_d_k(recorded, kUnit, kUnit).outcome, Outcome::kFail);
  recorded.gradient->d_v->values[4 * 8] = 1e-30;  // padding
  EXPECT_EQ(hidden_gradients_zero(recorded).outcome, Outcome::kFail);
}

TEST(GradientLaws, FailForNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  AttentionProblem problem = random_problem({.q_len = 7}, 63);
  problem.kv_lens = {4};
  AttentionCase recorded = right_case(problem);
  recorded.gradient->d_v->values[4 * 8] = nan;  // padding, with zeros behind it
  EXPECT_EQ(hidden_gradients_zero(recorded).outcome, Outcome::kFail);
  recorded.gradient->d_v->values[0] = nan;
  recorded.gradient->d_k->values[0] = nan;
  EXPECT_EQ(d_v_sums_to_d_out(recorded, kUnit).outcome, Outcome::kFail);
  EXPECT_EQ(d_k_sums_to_zero(recorded, kUnit).outcome, Outcome::kFail);
  EXPECT_EQ(d_q_balances_d_k(recorded, kUnit, kUnit).outcome, Outcome::kFail);
}

TEST(GradientLaws, AreNotCheckedWhereTheyDoNotHold) {
  AttentionProblem problem = random_problem({}, 62);
  EXPECT_EQ(hidden_gradients_zero(right_case(problem)).outcome, Outcome::kNotChecked);
  problem.rules.softcap = 1;
  EXPECT_EQ(d_k_sums_to_zero(right_case(problem), kUnit).outcome, Outcome::kNotChecked);
  problem.sinks = {1, 2};
  EXPECT_EQ(d_v_sums_to_d_out(right_case(problem), kUnit).outcome, Outcome::kNotChecked);
}

}  // namespace
}  // namespace attn
