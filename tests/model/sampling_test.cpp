#include "model/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"

namespace attn {
namespace {

TEST(ChooseToken, GreedyTakesTheLowestIdOfEquals) {
  const std::vector<float> logits = {1, 3, 2, 3};
  EXPECT_EQ(choose_token<float>(logits, {}, 0), 1);
}

TEST(ChooseToken, RefusesATemperatureThatIsNone) {
  const std::vector<float> logits = {1, 2};
  for (const double temperature :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(choose_token<float>(logits, {temperature, 0, 0}, 0), UsageError) << temperature;
  }
}

// 4000 positions: a share p of them is off by 3 * sqrt(p (1 - p) / 4000) < 0.024 in one of 400
// runs; the seed is fixed.
TEST(ChooseToken, DrawsInTheSharesOfTheSoftmax) {
  const std::vector<double> logits = {0.0, std::log(3.0), -std::numeric_limits<double>::infinity(),
                                      std::log(6.0)};
  std::vector<double> share(4, 0.0);
  for (Index position = 0; position < 4000; ++position) {
    const Index token = choose_token<double>(logits, {1.0, 5, 0}, position);
    share[static_cast<std::size_t>(token)] += 1.0 / 4000;
  }
  EXPECT_NEAR(share[0], 0.1, 0.024);
  EXPECT_NEAR(share[1], 0.3, 0.024);
  EXPECT_EQ(share[2], 0);
  EXPECT_NEAR(share[3], 0.6, 0.024);
}

TEST(ChooseToken, ALowTemperatureIsGreedyAndNeverOverflows) {
  const std::vector<float> logits = {-300, 300, 299};
  EXPECT_EQ(choose_token<float>(logits, {1e-6, 1, 0}, 0), 1);
  const std::vector<float> far = {-3e38F, 3e38F};
  EXPECT_EQ(choose_token<float>(far, {0.5, 1, 0}, 0), 1);
}

TEST(ChooseToken, SamplesAndPositionsAreIndependentStreams) {
  const std::vector<float> logits(1000, 0.0F);
  const Index a = choose_token<float>(logits, {1.0, 1, 0}, 7);
  EXPECT_EQ(choose_token<float>(logits, {1.0, 1, 0}, 7), a) << "the same draw again";
  EXPECT_NE(choose_token<float>(logits, {1.0, 1, 1}, 7), a);
  EXPECT_NE(choose_token<float>(logits, {1.0, 1, 0}, 8), a);
  EXPECT_NE(choose_token<float>(logits, {1.0, 2, 0}, 7), a);
}

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

}  // namespace
}  // namespace attn
