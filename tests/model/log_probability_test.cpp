#include "model/log_probability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"

namespace attn {
namespace {

// softmax(0, ln 3, ln 4) = 1/8, 3/8, 4/8.
TEST(LogProbability, IsTheLogarithmOfTheSoftmax) {
  const std::vector<double> logits = {0.0, std::log(3.0), std::log(4.0)};
  EXPECT_NEAR(log_probability<double>(logits, 0), std::log(1.0 / 8), 1e-15);
  EXPECT_NEAR(log_probability<double>(logits, 1), std::log(3.0 / 8), 1e-15);
  EXPECT_NEAR(log_probability<double>(logits, 2), std::log(4.0 / 8), 1e-15);
  EXPECT_THROW(log_probability<double>(logits, 3), ShapeError);
  EXPECT_THROW(log_probability<double>(logits, -1), ShapeError);
  EXPECT_THROW(log_probability<double>({}, 0), ShapeError);
}

TEST(LogProbability, OfFarLogitsIsExactInDouble) {
  const std::vector<float> logits = {1000, 0, -3e38F};
  EXPECT_EQ(log_probability<float>(logits, 0), 0);
  EXPECT_EQ(log_probability<float>(logits, 1), -1000);
  EXPECT_EQ(log_probability<float>(logits, 2), -1000 - static_cast<double>(3e38F));
}

TEST(Lead, IsTheGapToTheSecond) {
  EXPECT_EQ(lead<float>(std::vector<float>{1, 4, 2.5F}), 1.5);
  EXPECT_EQ(lead<float>(std::vector<float>{4, 1, 4}), 0) << "equals";
  EXPECT_EQ(lead<float>(std::vector<float>{4}), std::numeric_limits<double>::infinity());
}

TEST(Likeliest, RanksTheLowerIdFirstOfEquals) {
  const std::vector<double> logits = {0.0, std::log(4.0), std::log(3.0), std::log(4.0)};
  const std::vector<TokenLogProbability> three = likeliest<double>(logits, 3);
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(three[0].token, 1);
  EXPECT_EQ(three[1].token, 3);
  EXPECT_EQ(three[2].token, 2);
  EXPECT_NEAR(three[2].log_prob, std::log(3.0 / 12), 1e-15);
  EXPECT_EQ(likeliest<double>(logits, 9).size(), 4U);
  EXPECT_TRUE(likeliest<double>(logits, 0).empty());
}

}  // namespace
}  // namespace attn
