#include "check/laws/laws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "check/problems.h"

namespace attn {
namespace {

using testing::ElementsAre;

// Right in every respect: the reference's own answer as if somebody had recorded it.
AttentionCase honest_case(const AttentionProblem& problem) {
  return recorded_answer(problem, reference_attention(problem, true, 1));
}

AttentionProblem causal_problem() {
  AttentionProblem problem = random_problem({}, 21);
  problem.rules.causal = true;
  return problem;
}

Check rows(const AttentionCase& recorded) {
  return rows_sum_to_one(recorded, reference_attention(recorded.problem, true, 1));
}

TEST(Laws, HoldOfTheReference) {
  AttentionProblem problem = causal_problem();
  problem.rules.window_left = 2;
  const AttentionCase recorded = honest_case(problem);
  EXPECT_EQ(rows(recorded).outcome, Outcome::kPass);
  EXPECT_EQ(weights_in_range(recorded).outcome, Outcome::kPass);
  EXPECT_EQ(future_weights_zero(recorded).outcome, Outcome::kPass);
  EXPECT_EQ(hidden_weights_zero(recorded).outcome, Outcome::kPass);
  EXPECT_EQ(out_within_values(recorded, 1e-15).outcome, Outcome::kPass);
  EXPECT_EQ(one_key_gives_its_value(recorded).outcome, Outcome::kPass);
}

TEST(Laws, AreNotCheckedWithoutTheirData) {
  AttentionCase empty;
  empty.problem = three_tokens();
  EXPECT_EQ(rows(empty).outcome, Outcome::kNotChecked);
  EXPECT_EQ(weights_in_range(empty).outcome, Outcome::kNotChecked);
  EXPECT_EQ(future_weights_zero(empty).note, "not causal");
  empty.problem.rules.causal = true;
  EXPECT_EQ(future_weights_zero(empty).note, "no weights");
  EXPECT_EQ(hidden_weights_zero(empty).outcome, Outcome::kNotChecked);
  EXPECT_EQ(out_within_values(empty, 1).outcome, Outcome::kNotChecked);
  EXPECT_EQ(one_key_gives_its_value(empty).outcome, Outcome::kNotChecked);
  EXPECT_EQ(permutation(empty, {}, 1).outcome, Outcome::kNotChecked);
  EXPECT_EQ(causal_probe(empty, {}).outcome, Outcome::kNotChecked);
}

TEST(Laws, ARowThatDoesNotSumToOneIsNamed) {
  AttentionCase recorded = honest_case(random_problem({}, 22));
  recorded.weights->values[5 * 5 + 3 * 5 + 1] += 0.01;  // head 1, row 3
  const Check check = rows(recorded);
  EXPECT_EQ(check.outcome, Outcome::kFail);
  EXPECT_THAT(check.where, ElementsAre(0, 1, 3));
  EXPECT_NEAR(check.max_error, 0.01, 1e-12);
}

TEST(Laws, ASinkTakesItsShareOfTheSum) {
  AttentionProblem problem = random_problem({}, 23);
  problem.sinks = {1, 2};
  AttentionCase recorded = honest_case(problem);
  EXPECT_EQ(rows(recorded).outcome, Outcome::kPass);
  problem.sinks.clear();  // weights of somebody who forgot the sink sum to 1
  recorded.weights = reference_attention(problem, true, 1).weights;
  EXPECT_EQ(rows(recorded).outcome, Outcome::kFail);
}

TEST(Laws, DeadRowsNeedNotSumToOneButMustBeZeroOrNan) {
  AttentionProblem problem = random_problem({.q_len = 4, .kv_len = 2}, 24);
  problem.rules.causal = true;
  problem.rules.causal_alignment = CausalAlignment::kBottomRight;
  AttentionCase recorded = honest_case(problem);
  EXPECT_EQ(rows(recorded).outcome, Outcome::kPass);
  EXPECT_EQ(future_weights_zero(recorded).outcome, Outcome::kPass);
  problem.rules.fully_masked = FullyMasked::kNan;
  recorded = honest_case(problem);
  EXPECT_EQ(rows(recorded).outcome, Outcome::kPass);
  EXPECT_EQ(future_weights_zero(recorded).outcome, Outcome::kPass);
  EXPECT_EQ(weights_in_range(recorded).outcome, Outcome::kPass);
}

TEST(Laws, TheSmallestWeightOnTheFutureCounts) {
  AttentionCase recorded = honest_case(causal_problem());
  recorded.weights->values[1 * 5 + 2] = std::numeric_limits<double>::denorm_min();
  const Check check = future_weights_zero(recorded);
  EXPECT_EQ(check.outcome, Outcome::kFail);
  EXPECT_THAT(check.where, ElementsAre(0, 0, 1, 2));
}

TEST(Laws, AHiddenKeyHasNoWeight) {
  AttentionProblem problem = random_problem({}, 25);
  problem.mask = Tensor<double>({1, 1, 1, 5}, {1, 1, 0, 1, 1});
  AttentionCase recorded = honest_case(problem);
  EXPECT_EQ(hidden_weights_zero(recorded).outcome, Outcome::kPass);
  problem.mask.reset();
  recorded.weights = reference_attention(problem, true, 1).weights;
  EXPECT_THAT(hidden_weights_zero(recorded).where, testing::Contains(2));
}

TEST(Laws, NegativeAndNanWeightsAreOutOfRange) {
  AttentionCase recorded = honest_case(random_problem({}, 26));
  recorded.weights->values[7] = -0.25;
  EXPECT_EQ(weights_in_range(recorded).max_error, 0.25);
  recorded.weights->values[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(weights_in_range(recorded).outcome, Outcome::kFail);
}

TEST(Laws, AnAverageLeavesNoHull) {
  AttentionCase recorded = honest_case(random_problem({}, 27));
  for (double& value : recorded.out->values) value *= 5;  // weights that sum to 5
  EXPECT_EQ(out_within_values(recorded, 1e-5).outcome, Outcome::kFail);
}

TEST(Laws, TheFirstCausalRowIsTheFirstValue) {
  AttentionCase recorded = honest_case(causal_problem());
  recorded.out->values[3] += 1;
  const Check check = one_key_gives_its_value(recorded);
  EXPECT_EQ(check.outcome, Outcome::kFail);
  EXPECT_THAT(check.where, ElementsAre(0, 0, 0, 3));
}

TEST(Laws, PermutingTheTokensPermutesTheOutput) {
  AttentionCase recorded = honest_case(random_problem({}, 28));
  recorded.perm = {3, 0, 4, 1, 2};
  recorded.out_perm = reference_attention(permuted(recorded.problem, recorded.perm), false, 1).out;
  const Limits allowed{.max_error = 1e-12, .mean_error = 1e-12};
  EXPECT_EQ(permutation(recorded, allowed, 1).outcome, Outcome::kPass);
  recorded.out_perm = recorded.out;
  EXPECT_EQ(permutation(recorded, allowed, 1).outcome, Outcome::kFail);
}

TEST(Laws, UnderACausalMaskThePermutedRunIsHeldToTheReference) {
  AttentionCase recorded = honest_case(causal_problem());
  recorded.perm = {3, 0, 4, 1, 2};
  recorded.out_perm = reference_attention(permuted(recorded.problem, recorded.perm), false, 1).out;
  const Check check = permutation(recorded, {.max_error = 1e-12, .mean_error = 1e-12}, 1);
  EXPECT_EQ(check.outcome, Outcome::kPass);
  EXPECT_THAT(check.note, testing::HasSubstr("against the reference"));
}

TEST(Laws, ChangingTheFutureMovesNoEarlierRow) {
  AttentionCase recorded = honest_case(causal_problem());
  CausalProbe probe{recorded.problem.k, recorded.problem.v, {}, 3};
  for (Index head = 0; head < 2; ++head) {
    for (Index c = 0; c < 16; ++c) probe.k.data()[(head * 5 + 3) * 8 + c] = 9;
  }
  AttentionProblem changed = recorded.problem;
  changed.k = probe.k;
  probe.out = reference_attention(changed, false, 1).out;
  recorded.probe = probe;
  const Limits allowed{.max_error = 1e-12, .mean_error = 1e-12};
  EXPECT_EQ(causal_probe(recorded, allowed).outcome, Outcome::kPass);
  changed.rules.causal = false;
  recorded.probe->out = reference_attention(changed, false, 1).out;
  EXPECT_EQ(causal_probe(recorded, allowed).outcome, Outcome::kFail);
}

TEST(Laws, EqualKeysGiveTheMeanAndConstantValuesStay) {
  AttentionProblem problem = causal_problem();
  EXPECT_EQ(equal_keys_give_the_mean(honest_case(problem), 1e-15).outcome, Outcome::kNotChecked);
  EXPECT_EQ(constant_values_stay(honest_case(problem), 1e-15).outcome, Outcome::kNotChecked);
  // Keys 1, 2 and 3 of head 0 become key 0; values of head 1 become its first.
  for (Index j = 1; j < 4; ++j) std::copy_n(problem.k.data(), 8, problem.k.data() + j * 8);
  for (Index j = 6; j < 10; ++j) std::copy_n(problem.v.data() + 40, 8, problem.v.data() + j * 8);
  AttentionCase recorded = honest_case(problem);
  EXPECT_EQ(equal_keys_give_the_mean(recorded, 1e-14).outcome, Outcome::kPass);
  EXPECT_EQ(constant_values_stay(recorded, 1e-14).outcome, Outcome::kPass);
  recorded.out->values[3 * 8 + 2] += 0.01;         // head 0, row 3 sees four equal keys
  recorded.out->values[4 * 8 + 2] += 1;            // row 4 sees another one
  recorded.out->values[(5 + 4) * 8 + 5] += 0.125;  // head 1, row 4
  const Check keys = equal_keys_give_the_mean(recorded, 1e-3);
  EXPECT_EQ(keys.outcome, Outcome::kFail);
  EXPECT_THAT(keys.where, ElementsAre(0, 0, 3, 2));
  const Check values = constant_values_stay(recorded, 1e-3);
  EXPECT_EQ(values.outcome, Outcome::kFail);
  EXPECT_THAT(values.where, ElementsAre(0, 1, 4, 5));
}

TEST(Laws, FirstCausalRowStandsByItself) {
  AttentionCase recorded = honest_case(causal_problem());
  EXPECT_EQ(first_causal_row(recorded).outcome, Outcome::kPass);
  recorded.out->values[5 * 8 + 3] += 0.01;  // head 1, row 0
  EXPECT_THAT(first_causal_row(recorded).where, ElementsAre(0, 1, 0, 3));
  EXPECT_EQ(first_causal_row(recorded).outcome, Outcome::kFail);
  recorded.problem.rules.causal_offset = 1;  // row 0 sees two keys
  EXPECT_EQ(first_causal_row(recorded).outcome, Outcome::kNotChecked);
  recorded.problem.rules.causal_offset.reset();
  recorded.problem.sinks = {0, 0};
  EXPECT_EQ(first_causal_row(recorded).outcome, Outcome::kNotChecked);
}

}  // namespace
}  // namespace attn
