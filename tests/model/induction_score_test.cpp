#include "model/induction_score.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/tensor.h"

namespace attn {
namespace {

double score_of(const Tensor<float>& map, const std::vector<Index>& ids) {
  const auto score = induction_score(Matrix<const float>(map.data(), map.dim(0), map.dim(1)), ids);
  EXPECT_TRUE(score.has_value());
  return score.value_or(-1);
}

// a b c a b: the second a looks at b (1), the second b at c (2); the first three do not count.
TEST(InductionScore, IsTheMeanWeightOnWhatFollowedTheLastTime) {
  Tensor<float> map({5, 5});
  map.matrix()(2, 1) = 1;
  map.matrix()(3, 1) = 0.75F;
  map.matrix()(3, 0) = 0.25F;
  map.matrix()(4, 2) = 0.25F;
  map.matrix()(4, 4) = 0.75F;
  EXPECT_EQ(score_of(map, {7, 8, 9, 7, 8}), 0.5);
}

// a b a c a: the last a looks at what followed the second a (3), not the first (1).
TEST(InductionScore, OfSeveralOccurrencesTheLastCounts) {
  Tensor<float> map({5, 5});
  map.matrix()(2, 1) = 1;
  map.matrix()(4, 1) = 1;
  EXPECT_EQ(score_of(map, {1, 2, 1, 3, 1}), 0.5);
  map.matrix()(4, 1) = 0;
  map.matrix()(4, 3) = 1;
  EXPECT_EQ(score_of(map, {1, 2, 1, 3, 1}), 1);
}

// What followed a token that is doubled is the second one itself.
TEST(InductionScore, OfADoubledTokenIsItsWeightOnItself) {
  Tensor<float> map({2, 2});
  map.matrix()(1, 1) = 0.5F;
  EXPECT_EQ(score_of(map, {4, 4}), 0.5);
}

TEST(InductionScore, WithoutARepeatThereIsNone) {
  const Tensor<float> map({3, 3});
  EXPECT_FALSE(induction_score(Matrix<const float>(map.data(), 3, 3), std::vector<Index>{1, 2, 3}));
  EXPECT_THROW(induction_score(Matrix<const float>(map.data(), 3, 3), std::vector<Index>{1, 1}),
               ShapeError);
}

}  // namespace
}  // namespace attn
