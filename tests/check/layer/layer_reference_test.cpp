#include "check/layer/layer_reference.h"

#include <gtest/gtest.h>

#include "check/layer/check_layer.h"
#include "check/layer/kernel_layer.h"
#include "check/layer/layer_file.h"
#include "check/layer/layer_problems.h"
#include "check/layer/twisted_layer.h"
#include "support/truth.h"

namespace attn {
namespace {

// One token of two features, one head: the only weight is 1, so heads are v and output is out_proj.
TEST(LayerReference, OfOneTokenByHand) {
  LayerProblem problem;
  problem.x = Tensor<double>({1, 1, 2}, {1, 2});
  problem.q_proj.weight = Tensor<double>({2, 2}, {1, 0, 0, 1});
  problem.k_proj.weight = Tensor<double>({2, 2}, {1, 1, 0, 1});
  problem.v_proj.weight = Tensor<double>({2, 2}, {2, 0, 1, 1});
  problem.v_proj.bias = {10, 20};
  problem.out_proj = Projection{Tensor<double>({1, 2}, {1, -1}), {5}};
  const LayerSteps steps = reference_layer(problem, {}, 1);
  EXPECT_EQ(steps[LayerStep::kQ].values, (std::vector<double>{1, 2}));
  EXPECT_EQ(steps[LayerStep::kK].values, (std::vector<double>{3, 2}));
  EXPECT_EQ(steps[LayerStep::kHeads].values, (std::vector<double>{12, 23}));
  EXPECT_EQ(steps[LayerStep::kWeights].values, (std::vector<double>{1}));
  EXPECT_EQ(steps[LayerStep::kOutput].values, (std::vector<double>{-6}));
}

TEST(LayerReference, StepsFollowFromWhatIsGiven) {
  const LayerProblem problem = random_layer({}, 1);
  const LayerSteps right = reference_layer(problem, {}, 1);
  LayerSteps given;
  given[LayerStep::kHeads] = Tensor<double>(right[LayerStep::kHeads].shape);
  const LayerSteps follows = reference_layer(problem, given, 1);
  EXPECT_EQ(follows[LayerStep::kHeads].values, right[LayerStep::kHeads].values);
  EXPECT_EQ(follows[LayerStep::kOutput].values[0], problem.out_proj->bias[0]);
}

TEST(LayerReference, HeadsAreSplitAndJoined) {
  const Tensor<double> joined({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor<double> split = split_heads(joined, 2);
  EXPECT_EQ(split.values, (std::vector<double>{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(join_heads(split).values, joined.values);
}

TEST(LayerReference, ThreadsChangeNoBit) {
  const LayerProblem problem = random_layer({.rows = 40, .rope = true}, 2);
  EXPECT_EQ(reference_layer(problem, {}, 1)[LayerStep::kOutput].values,
            reference_layer(problem, {}, 3)[LayerStep::kOutput].values);
}

TEST(TwistedLayer, WithoutATwistIsTheReference) {
  for (const bool rope : {false, true}) {
    const LayerProblem problem = random_layer({.rope = rope}, 3);
    const LayerSteps right = reference_layer(problem, {}, 1);
    const LayerSteps same = twisted_layer(problem, {}, {}, 1);
    for (LayerStep step : kAllLayerSteps) EXPECT_EQ(same[step].values, right[step].values);
  }
}

// Layers with truth made elsewhere, in float64: sums of some tens of terms.
TEST(LayerReferenceFiles, AreMetStepByStep) {
  attn::testing::TruthCount count;
  for (const auto& path : attn::testing::reference_files()) {
    const TensorFile file = TensorFile::open(path.string());
    if (file.text_attribute("/", "arch") != "attention") continue;
    CaseAttributes rules = read_layer_rules(file);
    rules.dtype = DType::kF64;
    const LayerCase layer = read_layer(file, rules, read_layer_attributes(file), {}, {});
    EXPECT_TRUE(layer.recorded.has(LayerStep::kOutput)) << path;
    const LayerReport report = check_layer(layer, {});
    EXPECT_EQ(report.verdict.outcome(), Outcome::kPass) << path;
    EXPECT_EQ(report.kernel.outcome(), Outcome::kPass) << path;
    count.hold();
  }
}

}  // namespace
}  // namespace attn
