#include "ops/positions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

TEST(Sinusoidal, ByHand) {
  Tensor<double> table({2, 4});
  sinusoidal_positions<double>(10000, 0, table.matrix());
  const std::vector<double> want{
      0, 1, 0, 1, std::sin(1.0), std::cos(1.0), std::sin(0.01), std::cos(0.01)};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(table.values[i], want[i], 1e-15) << i;
}

TEST(Sinusoidal, RowsDependOnPositionAlone) {
  Tensor<float> all({50, 6}), tail({8, 6});
  sinusoidal_positions<float>(10000, 0, all.matrix());
  sinusoidal_positions<float>(10000, 42, tail.matrix());
  EXPECT_TRUE(std::equal(tail.values.begin(), tail.values.end(), all.values.begin() + 42 * 6));
}

TEST(Sinusoidal, OddWidthEndsWithASine) {
  Tensor<double> table({1, 3});
  sinusoidal_positions<double>(10000, 1, table.matrix());
  EXPECT_NEAR(table.values[2], std::sin(std::pow(10000.0, -2.0 / 3)), 1e-15);
}

// Position 1 with head_dim 2 turns by one radian; with 4 the second pair by base^(-1/2).
TEST(Rope, ByHandInBothPairings) {
  const RopeTable<double> table(4, 100, 0, 3);
  Tensor<double> x({1, 4}, {1, 0, 2, 0});
  rope_rotate(table, RopePairs::kInterleaved, 4, 1, x.matrix());
  const double slow = 0.1;
  EXPECT_NEAR(x.values[0], std::cos(1.0), 1e-15);
  EXPECT_NEAR(x.values[1], std::sin(1.0), 1e-15);
  EXPECT_NEAR(x.values[2], 2 * std::cos(slow), 1e-15);
  EXPECT_NEAR(x.values[3], 2 * std::sin(slow), 1e-15);
  Tensor<double> y({1, 4}, {1, 2, 0, 0});
  rope_rotate(table, RopePairs::kHalves, 4, 1, y.matrix());
  EXPECT_NEAR(y.values[0], std::cos(1.0), 1e-15);
  EXPECT_NEAR(y.values[2], std::sin(1.0), 1e-15);
  EXPECT_NEAR(y.values[1], 2 * std::cos(slow), 1e-15);
  EXPECT_NEAR(y.values[3], 2 * std::sin(slow), 1e-15);
}

// What makes it relative: q at p and k at r have a product that depends on p - r alone.
TEST(Rope, ProductsDependOnOffsetsAlone) {
  const RopeTable<double> table(8, 10000, 0, 40);
  for (const RopePairs pairs : {RopePairs::kInterleaved, RopePairs::kHalves}) {
    const auto q = random_tensor<double>({1, 8}, 1), k = random_tensor<double>({1, 8}, 2);
    const auto product = [&](Index p, Index r) {
      auto a = q, b = k;
      rope_rotate(table, pairs, 8, p, a.matrix());
      rope_rotate(table, pairs, 8, r, b.matrix());
      return inner(a.values, b.values);
    };
    EXPECT_NEAR(product(7, 3), product(37, 33), 1e-13);
    EXPECT_GT(std::abs(product(7, 3) - product(7, 4)), 1e-3);
  }
}

TEST(Rope, BackUndoesTheTurnInEveryHead) {
  const RopeTable<float> table(6, 10000, 5, 20);
  for (const RopePairs pairs : {RopePairs::kInterleaved, RopePairs::kHalves}) {
    const auto before = random_tensor<float>({4, 18}, 1);
    auto x = before;
    rope_rotate(table, pairs, 6, 9, x.matrix());
    for (Index head = 0; head < 3; ++head)
      EXPECT_NE(x.matrix()(3, head * 6), before.matrix()(3, head * 6));
    rope_rotate_back(table, pairs, 6, 9, x.matrix());
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      ASSERT_NEAR(x.values[i], before.values[i], 3e-7F) << i;
    }
  }
}

TEST(Rope, RefusesOddHeadsAndUnknownPositions) {
  EXPECT_THROW(RopeTable<float>(5, 10000, 0, 4), ShapeError);
  const RopeTable<float> table(4, 10000, 2, 4);  // positions 2 .. 5
  Tensor<float> x({2, 4});
  EXPECT_NO_THROW(rope_rotate(table, RopePairs::kHalves, 4, 4, x.matrix()));
  EXPECT_THROW(rope_rotate(table, RopePairs::kHalves, 4, 5, x.matrix()), ShapeError);
  EXPECT_THROW(rope_rotate(table, RopePairs::kHalves, 4, 1, x.matrix()), ShapeError);
  EXPECT_THROW(rope_rotate(table, RopePairs::kHalves, 8, 2, x.matrix()), ShapeError);
}

TEST(Alibi, SlopesOfThePaper) {
  const std::vector<double> eight{0.5,     0.25,     0.125,     0.0625,
                                  0.03125, 0.015625, 0.0078125, 0.00390625};
  EXPECT_EQ(alibi_slopes(8), eight);
  EXPECT_EQ(alibi_slopes(1), (std::vector<double>{0.00390625}));
  // Three heads: those of two, then the first of four.
  EXPECT_EQ(alibi_slopes(3), (std::vector<double>{0.0625, 0.00390625, 0.25}));
  EXPECT_EQ(alibi_slopes(12).size(), 12U);
  EXPECT_NEAR(alibi_slopes(12)[8], std::exp2(-0.5), 1e-15);
  EXPECT_THROW(alibi_slopes(0), ShapeError);
}

TEST(Sinusoidal, FormsByHand) {
  // dim 4, base 100: 2i/dim gives 1 and 1/10, tensor2tensor's exponents 0 and 1 give 1 and 1/100.
  EXPECT_EQ(sinusoidal_frequencies(4, 100, false), (std::vector<double>{1, 0.1}));
  EXPECT_EQ(sinusoidal_frequencies(4, 100, true), (std::vector<double>{1, 0.01}));
  EXPECT_EQ(sinusoidal_frequencies(5, 100, true).size(), 2U);
  EXPECT_EQ(sinusoidal_frequencies(5, 100, false).size(), 3U);
  Tensor<double> row({1, 4});
  sinusoidal_row({1, 0.1}, {.concatenated = true}, 2, row.matrix());
  const std::vector<double> want{std::sin(2.0), std::sin(0.2), std::cos(2.0), std::cos(0.2)};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(row.values[i], want[i], 1e-15) << i;
  Tensor<double> odd({1, 5});
  sinusoidal_row({1, 0.01}, {.tensor2tensor = true}, 2, odd.matrix());
  EXPECT_EQ(odd.values[4], 0) << "filled up";
  EXPECT_NEAR(odd.values[3], std::cos(0.02), 1e-15);
}

TEST(Sinusoidal, ARowIsThatOfTheTable) {
  Tensor<double> table({8, 7}), row({1, 7});
  sinusoidal_positions<double>(1000, 40, table.matrix());
  sinusoidal_row(sinusoidal_frequencies(7, 1000, false), {}, 43, row.matrix());
  EXPECT_TRUE(std::equal(row.values.begin(), row.values.end(), table.matrix().row(3)));
}

// 8 buckets a side, 4 of them exact, distances to 32: 4 grows by factors of 8^(1/4).
TEST(T5Bucket, ByHand) {
  for (Index r = 0; r < 4; ++r) EXPECT_EQ(t5_bucket(-r, 8, 32, false), r);
  EXPECT_EQ(t5_bucket(-4, 8, 32, false), 4);
  EXPECT_EQ(t5_bucket(-6, 8, 32, false), 4);
  EXPECT_EQ(t5_bucket(-7, 8, 32, false), 5);
  EXPECT_EQ(t5_bucket(-32, 8, 32, false), 7);
  EXPECT_EQ(t5_bucket(-1000000, 8, 32, false), 7) << "the last holds all that is farther";
  EXPECT_EQ(t5_bucket(5, 8, 32, false), 0) << "the future";
  EXPECT_EQ(t5_bucket(1, 32, 128, true), 17);
  EXPECT_EQ(t5_bucket(-1, 32, 128, true), 1);
  EXPECT_THROW(t5_bucket(1, 8, 4, false), ShapeError);
}

}  // namespace
}  // namespace attn
