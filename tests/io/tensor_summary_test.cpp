#include "io/tensor_summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace attn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TensorSummary of(const Shape& shape, const std::vector<double>& values) {
  return summarize(shape, std::span<const double>(values));
}

TEST(TensorSummary, OfFourNumbers) {
  const TensorSummary summary = of({2, 2}, {1, 3, 3, 5});
  EXPECT_EQ(summary.count, 4);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 5);
  EXPECT_EQ(summary.mean, 3);
  EXPECT_NEAR(summary.deviation, 1.4142135623730951, 1e-15);
  EXPECT_EQ(summary.nonfinite(), 0);
  EXPECT_EQ(summary.first_nonfinite, std::nullopt);
}

TEST(TensorSummary, WhatIsNotFiniteIsCountedAndLeftOut) {
  const TensorSummary summary = of({2, 3}, {1, 2, -kInfinity, kNan, kInfinity, kNan});
  EXPECT_EQ(summary.nan, 2);
  EXPECT_EQ(summary.plus_inf, 1);
  EXPECT_EQ(summary.minus_inf, 1);
  EXPECT_EQ(summary.finite(), 2);
  EXPECT_EQ(summary.mean, 1.5);
  EXPECT_EQ(summary.max, 2);
  EXPECT_EQ(summary.first_nonfinite, (Shape{0, 2}));
}

// A sum of squares would lose all digits of the deviation here.
TEST(TensorSummary, SmallDeviationsFarFromZero) {
  EXPECT_EQ(of({2}, {1e9, 1e9 + 2}).deviation, 1);
}

// Their differences and squares are no numbers any more, their mean and deviation are.
TEST(TensorSummary, OfTheLargestNumbers) {
  const double most = std::numeric_limits<double>::max();
  const TensorSummary summary = of({4}, {most, -most, most, -most});
  EXPECT_EQ(summary.mean, 0);
  EXPECT_EQ(summary.deviation, most);
  EXPECT_EQ(of({2}, {1e308, 1e308}).mean, 1e308);
}

TEST(TensorSummary, OfNothingFinite) {
  const TensorSummary summary = of({1}, {kNan});
  EXPECT_EQ(summary.finite(), 0);
  EXPECT_EQ(summary.min, 0);
  EXPECT_EQ(summary.max, 0);
}

TEST(TensorSummary, OfNothing) {
  const TensorSummary summary = of({0, 3}, {});
  EXPECT_EQ(summary.count, 0);
  EXPECT_EQ(summary.mean, 0);
  EXPECT_EQ(summary.deviation, 0);
}

TEST(TensorSummary, PositionsAreRowMajor) {
  EXPECT_EQ(position_of(0, {2, 3}), (Shape{0, 0}));
  EXPECT_EQ(position_of(5, {2, 3}), (Shape{1, 2}));
  EXPECT_EQ(position_of(0, {}), Shape{});
}

}  // namespace
}  // namespace attn
