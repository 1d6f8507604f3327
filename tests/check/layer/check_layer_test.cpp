#include "check/layer/check_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/layer/layer_problems.h"
#include "check/layer/layer_reference.h"
#include "check/layer/plain_layer.h"
#include "check/layer/twisted_layer.h"

namespace attn {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

LayerCase recorded_in(DType dtype, LayerProblem problem) {
  problem.attention.rules.dtype = dtype;
  LayerCase layer;
  layer.recorded = plain_layer(problem, {}, dtype, PlainOrder::kTiled, false, 1);
  layer.problem = std::move(problem);
  validate(layer);
  return layer;
}

LayerCase mistaken(const LayerProblem& problem, const LayerProblem& seen, const LayerTwist& twist) {
  LayerCase layer;
  layer.problem = problem;
  layer.recorded = twisted_layer(seen, twist, {}, 1);
  return layer;
}

// Only some steps are recorded.
LayerCase only(LayerCase layer, const std::vector<LayerStep>& steps) {
  LayerSteps kept;
  for (LayerStep step : steps) kept[step] = layer.recorded[step];
  layer.recorded = kept;
  return layer;
}

TEST(CheckLayer, PassesOrdinaryArithmeticInEveryType) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (const bool rope : {false, true}) {
      const LayerReport report =
          check_layer(recorded_in(dtype, random_layer({.rope = rope}, 1)), {});
      EXPECT_EQ(report.verdict.outcome(), Outcome::kPass) << dtype_name(dtype);
      EXPECT_TRUE(report.first_wrong.empty());
      EXPECT_EQ(report.kernel.outcome(), Outcome::kPass);
    }
  }
}

TEST(CheckLayer, TellsTheStepThatDeviatesFromThoseThatInherit) {
  LayerCase layer = recorded_in(DType::kF32, random_layer({}, 2));
  layer.recorded[LayerStep::kScores].values[20] += 100;  // now the largest of its row
  LayerSteps given;
  given[LayerStep::kScores] = layer.recorded[LayerStep::kScores];
  const LayerSteps follows = reference_layer(layer.problem, given, 1);
  for (LayerStep step : {LayerStep::kWeights, LayerStep::kHeads}) {
    layer.recorded[step] = follows[step];
  }
  given[LayerStep::kHeads] = layer.recorded[LayerStep::kHeads];
  layer.recorded[LayerStep::kOutput] = reference_layer(layer.problem, given, 1)[LayerStep::kOutput];
  const LayerReport report = check_layer(layer, {});
  EXPECT_EQ(report.first_wrong, "scores");
  EXPECT_EQ(report.verdict.checks[3].note, "the first step that deviates");
  EXPECT_EQ(report.verdict.checks[5].note, "follows from the steps before");
  EXPECT_THAT(names_of(report.verdict.diagnosis), ElementsAre("numeric-error"));
}

TEST(CheckLayer, NamesMistakesFromAllStepsAndFromTheOutputAlone) {
  const LayerProblem right =
      random_layer({.dim = 8, .heads = 4, .kv_heads = 4, .head_dim = 2, .rope = true}, 3);
  struct Mistake {
    const char* name;
    std::function<void(LayerProblem&)> change;
    LayerTwist twist;
  };
  LayerTwist skipped, residual, split, merged, values, late;
  skipped.no_out_proj = true;
  residual.residual = true;
  split.split = HeadCut::kNoTranspose;
  merged.join = HeadCut::kFeatures;
  values.own_ropes = true;
  values.q_rope = RopeTwist{*right.rope};
  values.k_rope = values.q_rope;
  values.v_rope = values.q_rope;
  late.bias_after_rope = true;
  LayerTwist unturned;
  unturned.own_ropes = true;
  const std::vector<Mistake> mistakes = {
      {"bias-missing", [](LayerProblem& p) { p.v_proj.bias.clear(); }, {}},
      {"weights-reused", [](LayerProblem& p) { p.k_proj = p.q_proj; }, {}},
      {"q-k-swapped", [](LayerProblem& p) { std::swap(p.k_proj, p.q_proj); }, {}},
      {"k-v-swapped", [](LayerProblem& p) { std::swap(p.k_proj, p.v_proj); }, {}},
      {"fused-order", [](LayerProblem& p) { std::swap(p.q_proj, p.v_proj); }, {}},
      {"causal-missing", [](LayerProblem& p) { p.attention.rules.causal = false; }, {}},
      {"missing-scale", [](LayerProblem& p) { p.attention.rules.scale = 1; }, {}},
      {"out-proj-missing", {}, skipped},
      {"residual-added", {}, residual},
      {"head-split", {}, split},
      {"head-merge", {}, merged},
      {"rope-on-values", {}, values},
      {"rope-before-bias", {}, late},
      {"rope-missing", {}, unturned},
  };
  for (const Mistake& mistake : mistakes) {
    LayerProblem seen = right;
    if (mistake.change) mistake.change(seen);
    const LayerCase layer = mistaken(right, seen, mistake.twist);
    EXPECT_THAT(names_of(check_layer(layer, {}).verdict.diagnosis), Contains(mistake.name));
    EXPECT_THAT(names_of(check_layer(only(layer, {LayerStep::kOutput}), {}).verdict.diagnosis),
                Contains(mistake.name));
  }
}

TEST(CheckLayer, QueriesMayBeRecordedBeforeTheirRotation) {
  LayerCase layer = recorded_in(DType::kF32, random_layer({.rope = true}, 4));
  LayerProblem unturned = layer.problem;
  unturned.rope.reset();
  layer.recorded[LayerStep::kQ] = reference_layer(unturned, {}, 1)[LayerStep::kQ];
  EXPECT_EQ(check_layer(layer, {}).verdict.outcome(), Outcome::kPass);
  layer.qk_stage = QkStage::kRotated;
  EXPECT_EQ(check_layer(layer, {}).verdict.outcome(), Outcome::kFail);
}

TEST(CheckLayer, TwoMistakesInTwoStepsAreBothNamed) {
  const LayerProblem right = random_layer({}, 5);
  LayerProblem seen = right;
  seen.v_proj.bias.clear();
  LayerTwist twist;
  twist.no_out_proj = true;
  EXPECT_THAT(names_of(check_layer(mistaken(right, seen, twist), {}).verdict.diagnosis),
              testing::UnorderedElementsAre("bias-missing", "out-proj-missing"));
}

TEST(CheckLayer, CrossAttentionThatReadItself) {
  const LayerProblem right = random_layer({.rows = 4, .context_rows = 6}, 6);
  LayerProblem seen = right;
  seen.context.reset();
  const LayerCase layer = only(mistaken(right, seen, {}), {LayerStep::kOutput});
  EXPECT_THAT(names_of(check_layer(layer, {}).verdict.diagnosis), ElementsAre("context-ignored"));
}

TEST(CheckLayer, ThePartsMustFit) {
  LayerCase layer = recorded_in(DType::kF32, random_layer({}, 7));
  layer.problem.heads = 3;
  EXPECT_THROW(validate(layer), DataError);
  layer = recorded_in(DType::kF32, random_layer({}, 7));
  layer.problem.out_proj->bias.pop_back();
  EXPECT_THROW(validate(layer), DataError);
  layer = recorded_in(DType::kF32, random_layer({}, 7));
  layer.recorded[LayerStep::kHeads].shape = {2, 8, 5};
  EXPECT_THROW(validate(layer), DataError);
}

}  // namespace
}  // namespace attn
