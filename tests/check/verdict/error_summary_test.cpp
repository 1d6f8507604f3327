#include "check/verdict/error_summary.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace attn {
namespace {

const AxisErrors& axis_of(const ErrorSummary& summary, const std::string& name) {
  for (const AxisErrors& axis : summary.axes) {
    if (axis.axis == name) return axis;
  }
  throw ShapeError("no such axis");
}

TEST(ErrorSummary, TellsTheHeadAndTheRows) {
  const Tensor<double> truth({1, 2, 3, 4});
  Tensor<double> given = truth;
  for (std::size_t c = 0; c < 4; ++c) given.values[(3 + 2) * 4 + c] = 3;  // head 1, row 2
  given.values[0] = 4;                                                    // head 0, row 0
  const ErrorSummary summary = summarise_error("out", given, truth, 0.5);
  EXPECT_EQ(summary.wrong, 5);
  EXPECT_EQ(summary.count, 24);
  ASSERT_EQ(summary.axes.size(), 3U);  // there is one sequence only
  EXPECT_DOUBLE_EQ(axis_of(summary, "head").shares[0].share, 0.25);
  EXPECT_DOUBLE_EQ(axis_of(summary, "head").shares[1].share, 0.75);
  EXPECT_EQ(axis_of(summary, "head").shares[1].wrong, 4);
  EXPECT_EQ(axis_of(summary, "query").shares[1].share, 0);
  EXPECT_EQ(axis_of(summary, "query").shares[2].max_error, 3);
  EXPECT_DOUBLE_EQ(axis_of(summary, "feature").shares[0].share, 7.0 / 16);
}

TEST(ErrorSummary, LongAxesAreCutIntoTiles) {
  const Tensor<double> truth({1, 1, 2, 100});
  Tensor<double> given = truth;
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t j = 96; j < 100; ++j) given.values[row * 100 + j] = 1;
  }
  const AxisErrors keys = axis_of(summarise_error("weights", given, truth, 0), "key");
  ASSERT_EQ(keys.shares.size(), 13U);  // of 8 keys each, the last of 4
  EXPECT_EQ(keys.shares.back().first, 96);
  EXPECT_EQ(keys.shares.back().end, 100);
  EXPECT_EQ(keys.shares.back().share, 1);
  EXPECT_EQ(keys.shares[11].wrong, 0);
}

TEST(ErrorSummary, WhatIsNotFiniteOutweighsAllElse) {
  const Tensor<double> truth({2, 1, 1, 2});
  Tensor<double> given = truth;
  given.values[0] = 1e9;
  given.values[3] = std::numeric_limits<double>::quiet_NaN();
  const AxisErrors sequences = axis_of(summarise_error("out", given, truth, 0), "sequence");
  EXPECT_EQ(sequences.shares[0].share, 0);
  EXPECT_EQ(sequences.shares[1].share, 1);
}

}  // namespace
}  // namespace attn
