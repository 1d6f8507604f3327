#include "check/check_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "check/mistakes/twisted_gradient.h"
#include "check/problems.h"
#include "check/reference/fast_gradient.h"
#include "check/reference/plain_gradient.h"

namespace attn {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

AttentionCase recorded_in(DType dtype, AttentionProblem problem, std::uint64_t seed,
                          bool round_steps = false) {
  problem.rules.dtype = dtype;
  Rng rng(seed, RandomPurpose::kExample, 3);
  AttentionCase recorded;
  GradientRecord gradient;
  gradient.d_out =
      normal_tensor({problem.batch(), problem.heads(), problem.q_len(), problem.value_dim()}, rng);
  AttentionGradient plain =
      plain_gradient(problem, gradient.d_out, dtype, BackwardOrder::kStoredSums, round_steps, 1);
  gradient.d_q = std::move(plain.d_q);
  gradient.d_k = std::move(plain.d_k);
  gradient.d_v = std::move(plain.d_v);
  recorded.gradient = std::move(gradient);
  recorded.problem = std::move(problem);
  return recorded;
}

// The same with a backward pass that takes other steps.
AttentionCase mistaken(const AttentionProblem& problem, const BackwardSteps& steps) {
  AttentionCase recorded = recorded_in(DType::kF32, problem, 7);
  const BackwardView view{problem, false};
  const AttentionGradient wrong =
      twisted_gradient(problem, recorded.gradient->d_out, view, view, steps, 1);
  recorded.gradient->d_q = wrong.d_q;
  recorded.gradient->d_k = wrong.d_k;
  recorded.gradient->d_v = wrong.d_v;
  return recorded;
}

Verdict verdict_of(const AttentionCase& recorded) {
  validate(recorded);
  return check_attention(recorded, {}).verdict;
}

std::vector<std::string> names_of(const AttentionCase& recorded) {
  const Verdict verdict = verdict_of(recorded);
  EXPECT_EQ(verdict.outcome(), Outcome::kFail);
  return names_of(verdict.diagnosis);
}

AttentionProblem grouped() {
  AttentionProblem problem =
      random_problem({.batch = 2, .heads = 4, .kv_heads = 2, .q_len = 9, .kv_len = 9}, 51);
  problem.rules.causal = true;
  return problem;
}

TEST(CheckGradient, PassesOrdinaryArithmeticInEveryType) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const Verdict verdict = verdict_of(recorded_in(dtype, grouped(), 1));
    EXPECT_EQ(verdict.outcome(), Outcome::kPass) << dtype_name(dtype);
    EXPECT_TRUE(verdict.diagnosis.empty());
  }
}

TEST(CheckGradient, EveryStepRoundedTo16BitsPasses) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const AttentionProblem problem = random_problem({.q_len = 9, .kv_len = 50}, seed);
    EXPECT_EQ(verdict_of(recorded_in(DType::kBF16, problem, seed, true)).outcome(), Outcome::kPass);
  }
}

TEST(CheckGradient, RaisesNoFalseAlarmOverAnyRules) {
  for (std::uint64_t seed = 2000; seed < 2100; ++seed) {
    AttentionCase recorded = recorded_in(DType::kF32, any_problem(seed), seed);
    const AttentionGradient fast = fast_gradient(recorded.problem, recorded.gradient->d_out, 1);
    recorded.gradient->d_q = fast.d_q;
    recorded.gradient->d_k = fast.d_k;
    recorded.gradient->d_v = fast.d_v;
    const AttentionReport report = check_attention(recorded, {});
    for (const Check& check : report.verdict.checks) {
      EXPECT_NE(check.outcome, Outcome::kFail)
          << "seed " << seed << ": " << check.name << " is off by " << check.max_error
          << ", allowed " << check.limit;
    }
    EXPECT_NE(report.kernel.outcome(), Outcome::kFail) << seed;
  }
}

TEST(CheckGradient, NamesMistakesInItsOwnSteps) {
  struct {
    const char* name;
    BackwardSteps steps;
  } const kMistakes[] = {
      {"gqa-not-summed", {.group = GroupSum::kLast}},
      {"gqa-not-summed", {.group = GroupSum::kFirst}},
      {"gqa-averaged", {.group = GroupSum::kMean}},
      {"gqa-tiled", {.group = GroupSum::kTiled}},
      {"delta-missing", {.delta = 0}},
      {"delta-sign", {.delta = -1}},
      {"scale-missing-on-dq", {.query_scale = 0}},
      {"scale-missing-on-dk", {.key_scale = 0}},
      {"scale-twice-on-dk", {.key_scale = 2}},
      {"softmax-derivative-missing", {.scores = ScoreGradient::kNoWeights}},
      {"softmax-derivative-diagonal", {.scores = ScoreGradient::kDiagonal}},
      {"dv-from-wrong-weights", {.values = ValueWeights::kUnnormalised}},
      {"dv-transposed", {.values = ValueWeights::kTransposed}},
      {"dk-transposed", {.key_turned = true}},
      {"dq-transposed", {.query_turned = true}},
      {"tail-tile-in-backward", {.queries = 8}},
  };
  for (const auto& mistake : kMistakes) {
    EXPECT_THAT(names_of(mistaken(grouped(), mistake.steps)), Contains(mistake.name));
  }
}

TEST(CheckGradient, NamesAForgottenSlopeOfTheSoftcap) {
  AttentionProblem problem = grouped();
  problem.rules.softcap = 0.8;
  EXPECT_THAT(names_of(mistaken(problem, {.cap_slope = false})),
              ElementsAre("softcap-derivative-missing"));
}

// Forward right, backward open: kernels that recompute weights forget the mask there.
TEST(CheckGradient, NamesACausalMaskThatOnlyTheBackwardForgot) {
  AttentionCase recorded = recorded_in(DType::kF32, grouped(), 7);
  AttentionProblem open = recorded.problem;
  open.rules.causal = false;
  for (const bool stored : {false, true}) {
    const BackwardView view{open, stored};
    const AttentionGradient wrong =
        twisted_gradient(recorded.problem, recorded.gradient->d_out, view, view, {}, 1);
    recorded.gradient->d_q = wrong.d_q;
    recorded.gradient->d_k = wrong.d_k;
    recorded.gradient->d_v = wrong.d_v;
    recorded.out = reference_attention(recorded.problem, false, 1).out;
    EXPECT_THAT(names_of(recorded), ElementsAre("causal-missing-in-backward", "causal-missing"));
  }
  // A forward that is open too has one mistake.
  recorded.out = reference_attention(open, false, 1).out;
  recorded.gradient->d_q = reference_gradient(open, recorded.gradient->d_out, 1).d_q;
  recorded.gradient->d_k.reset();
  recorded.gradient->d_v.reset();
  EXPECT_THAT(names_of(recorded), ElementsAre("causal-missing"));
}

TEST(CheckGradient, NamesTheOtherCornerInTheBackward) {
  AttentionProblem problem = random_problem({.q_len = 4, .kv_len = 9}, 52);
  problem.rules.causal = true;
  AttentionCase recorded = recorded_in(DType::kF32, problem, 8);
  problem.rules.causal_alignment = CausalAlignment::kBottomRight;
  const AttentionGradient wrong = reference_gradient(problem, recorded.gradient->d_out, 1);
  recorded.gradient->d_q = wrong.d_q;
  recorded.gradient->d_k = wrong.d_k;
  recorded.gradient->d_v = wrong.d_v;
  EXPECT_THAT(names_of(recorded), Contains("causal-alignment-in-backward"));
}

TEST(CheckGradient, TwoMistakesInTwoTensorsAreBothNamed) {
  AttentionCase recorded = mistaken(grouped(), {.query_scale = 0});
  recorded.gradient->d_v = *mistaken(grouped(), {.group = GroupSum::kLast}).gradient->d_v;
  EXPECT_THAT(names_of(recorded), ElementsAre("scale-missing-on-dq", "gqa-not-summed"));
}

TEST(CheckGradient, OneWrongNumberIsFoundAndPlaced) {
  AttentionCase recorded = recorded_in(DType::kF32, grouped(), 9);
  recorded.gradient->d_k->values[(2 * 9 + 4) * 8 + 6] += 1e-3;  // batch 1, head 0, key 4
  const Verdict verdict = verdict_of(recorded);
  for (const Check& check : verdict.checks) {
    if (check.name != "dk") continue;
    EXPECT_THAT(check.where, ElementsAre(1, 0, 4, 6));
  }
  EXPECT_THAT(names_of(verdict.diagnosis), ElementsAre("numeric-error"));
}

TEST(CheckGradient, LargePaddingHidesNoMistake) {
  AttentionProblem problem = random_problem({.q_len = 6, .kv_len = 6}, 57);
  problem.kv_lens.assign(static_cast<std::size_t>(problem.batch()), 4);
  for (Tensor<double>* tensor : {&problem.k, &problem.v}) {
    const Index features = tensor->dim(3);
    for (std::size_t n = 0; n < tensor->values.size(); ++n) {
      if (static_cast<Index>(n) / features % 6 >= 4) tensor->values[n] = 1e9;
    }
  }
  AttentionCase recorded = recorded_in(DType::kF32, problem, 8);
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kPass);
  for (double& value : recorded.gradient->d_q->values) value *= 2;
  EXPECT_EQ(verdict_of(recorded).outcome(), Outcome::kFail);
}

TEST(CheckGradient, NaNIsSaid) {
  AttentionCase recorded = recorded_in(DType::kF32, grouped(), 10);
  recorded.gradient->d_q->values[3] = std::nan("");
  EXPECT_THAT(names_of(recorded), ElementsAre("non-finite"));
}

TEST(CheckGradient, RecordsMustFitTheProblem) {
  AttentionCase recorded = recorded_in(DType::kF32, grouped(), 11);
  recorded.gradient->d_k = recorded.gradient->d_q;
  EXPECT_THROW(validate(recorded), DataError);
}

}  // namespace
}  // namespace attn
