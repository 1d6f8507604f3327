#include "bench/attention_cost.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attn {
namespace {

TEST(AttentionCost, ExponentIsTheSlopeOfLogarithms) {
  EXPECT_NEAR(fitted_exponent({1, 2, 4}, {3, 12, 48}), 2, 1e-12);
  EXPECT_NEAR(fitted_exponent({10, 100}, {5, 5}), 0, 1e-12);
  EXPECT_TRUE(std::isnan(fitted_exponent({8}, {5})));
  EXPECT_TRUE(std::isnan(fitted_exponent({8, 8}, {5, 6})));
  EXPECT_TRUE(std::isnan(fitted_exponent({1, 2}, {0, 5})));
}

TEST(AttentionCost, BothWaysComputeTheSameAndMemoryGrowsAsTheLawSays) {
  CostSettings settings;
  settings.heads = 4;
  settings.head_dim = 64;
  settings.budget_seconds = 0.1;
  std::vector<CostPoint> points;
  for (const Index length : {512, 1024}) points.push_back(measure_cost(settings, length));
  for (const CostPoint& point : points) {
    EXPECT_LT(point.max_difference, 1e-5);  // float32 averages of numbers near 1
    EXPECT_GE(point.fast_ns.count(), 3);
    EXPECT_EQ(point.fast_ns.count(), point.whole_ns.count());
    EXPECT_GE(point.whole_bytes, 4 * point.seq_len * point.seq_len * 4);
  }
  const CostExponents law = cost_exponents(points);
  // At most linear. A tile of scores is there whatever the length, at these a fifth of all.
  EXPECT_LT(law.fast_memory, 1.05);
  EXPECT_GT(law.fast_memory, 0.7);
  EXPECT_NEAR(law.whole_memory, 2, 0.15);  // out is there too
}

TEST(AttentionCost, WeightsThatDoNotFitAreLeftOut) {
  CostSettings settings;
  settings.heads = 2;
  settings.head_dim = 4;
  settings.max_bytes = 2 * 64 * 64 * 4;
  settings.budget_seconds = 0.1;
  EXPECT_TRUE(measure_cost(settings, 64).has_whole());
  const CostPoint left_out = measure_cost(settings, 65);
  EXPECT_FALSE(left_out.has_whole());
  EXPECT_GE(left_out.fast_ns.count(), 3);
  EXPECT_FALSE(weight_bytes(settings, Index{1} << 40).has_value());
}

}  // namespace
}  // namespace attn
