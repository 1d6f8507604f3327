#include <gtest/gtest.h>

#include <cmath>

#include "check/compare_heads.h"
#include "check/head_stats.h"
#include "check/reference/matrix_rank.h"
#include "check/verdict/saturation.h"

namespace attn {
namespace {

Index rank_of(Shape shape, std::vector<double> values) {
  return matrix_rank(Tensor<double>(std::move(shape), std::move(values)).matrix());
}

TEST(MatrixRank, OfMatricesDoneByHand) {
  EXPECT_EQ(rank_of({2, 2}, {1, 0, 0, 1}), 2);
  EXPECT_EQ(rank_of({2, 2}, {1, 2, 2, 4}), 1);
  EXPECT_EQ(rank_of({3, 2}, {1, 2, 3, 4, 5, 6}), 2);
  EXPECT_EQ(rank_of({2, 3}, {0, 0, 0, 0, 0, 0}), 0);
  // 1 2 3 + 7 8 9 = 2 * (4 5 6)
  EXPECT_EQ(rank_of({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 2);
}

// The variance of q.k is head_dim; scaled it is 1, whatever head_dim.
TEST(Saturation, GrowsWithHeadDimOnlyUnscaled) {
  const std::vector<Saturation> all = saturation({4, 64, 1024}, 64, 0, 2);
  ASSERT_EQ(all.size(), 3U);
  for (const Saturation& one : all) {
    EXPECT_NEAR(one.scaled.score_variance, 1, 0.35) << one.head_dim;
    EXPECT_NEAR(one.unscaled.score_variance / static_cast<double>(one.head_dim), 1, 0.35);
    EXPECT_GT(one.scaled.entropy, 3.4) << "ln 64 is 4.16, weights of scores of size 1 are 0.5 less";
    EXPECT_LE(one.scaled.entropy, std::log(64.0));
  }
  EXPECT_LT(all[1].unscaled.entropy, 1);
  EXPECT_LT(all[2].unscaled.entropy, 0.3);
  EXPECT_GT(all[2].unscaled.largest, 0.9);
  EXPECT_LT(all[2].unscaled.gradient, 0.15);
}

TEST(Saturation, IsTheSameForAnyThreads) {
  const auto one = saturation({4, 8, 16}, 16, 3, 1);
  const auto three = saturation({4, 8, 16}, 16, 3, 3);
  for (std::size_t n = 0; n < one.size(); ++n) {
    EXPECT_EQ(one[n].unscaled.entropy, three[n].unscaled.entropy);
  }
}

TEST(Entropy, OfEvenAndOfOneHot) {
  const double even[] = {0.25, 0.25, 0.25, 0.25};
  EXPECT_DOUBLE_EQ(entropy_of(even, 4), std::log(4.0));
  const double one[] = {0, 1, 0};
  EXPECT_EQ(entropy_of(one, 3), 0);
}

// The same parameters and products; a head can tell no more apart than its features.
TEST(CompareHeads, TradesRankForMaps) {
  const HeadsReport one = measure_heads(1, 64, 80, 0, 2);
  const HeadsReport eight = measure_heads(8, 64, 80, 0, 2);
  EXPECT_EQ(one.parameters, 4 * 64 * 64);
  EXPECT_EQ(one.parameters, eight.parameters);
  EXPECT_EQ(one.flops, 2 * (4 * 80 * 64 * 64 + 2 * 80 * 80 * 64));
  EXPECT_EQ(one.flops, eight.flops);
  EXPECT_EQ(eight.exponentials, 8 * one.exponentials);
  EXPECT_EQ(one.score_rank, 64);
  EXPECT_EQ(eight.score_rank, 8);
  EXPECT_EQ(one.map_rank, 64);
  EXPECT_EQ(eight.map_rank, 8);
  EXPECT_EQ(eight.value_rank, 8);
  EXPECT_EQ(one.mixtures, 1);
  EXPECT_EQ(eight.mixtures, 8);
}

Index row_number(Index, Index row) {
  return row;
}

TEST(HeadStats, OfMapsDoneByHand) {
  // Head 0 looks at the previous token (row 0 at itself), head 1 evenly at all.
  const Tensor<double> weights(
      {1, 2, 3, 3}, {1, 0, 0, 1, 0, 0, 0, 1, 0,  //
                     1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3});
  const std::vector<HeadStats> all = head_stats(weights, row_number, {});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_DOUBLE_EQ(all[0].entropy, 0);
  EXPECT_DOUBLE_EQ(all[0].previous, 1);
  EXPECT_DOUBLE_EQ(all[0].self, 1. / 3);
  EXPECT_DOUBLE_EQ(all[0].first, 2. / 3);
  EXPECT_DOUBLE_EQ(all[0].future, 0);
  EXPECT_FALSE(all[0].induction);
  EXPECT_EQ(all[1].head, 1);
  EXPECT_NEAR(all[1].entropy, std::log(3.0), 1e-15);
  EXPECT_NEAR(all[1].future, (2. / 3 + 1. / 3) / 3, 1e-15);
}

// Tokens a b a: the third looks at what came after the first a.
TEST(HeadStats, FindInduction) {
  const Tensor<double> weights({1, 1, 3, 3}, {1, 0, 0, 0.5, 0.5, 0, 0.2, 0.7, 0.1});
  const std::vector<HeadStats> all = head_stats(weights, row_number, {7, 8, 7});
  ASSERT_TRUE(all[0].induction);
  EXPECT_DOUBLE_EQ(*all[0].induction, 0.7);
  EXPECT_FALSE(head_stats(weights, row_number, {7, 8, 9})[0].induction);
}

TEST(HeadStats, LeaveOutRowsThatSeeNothing) {
  const Tensor<double> weights({1, 1, 2, 2}, {0, 0, 0.5, 0.5});
  const HeadStats stats = head_stats(weights, row_number, {})[0];
  EXPECT_EQ(stats.rows, 1);
  EXPECT_DOUBLE_EQ(stats.self, 0.5);
}

}  // namespace
}  // namespace attn
