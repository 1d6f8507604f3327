#include "check/verdict/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Metrics of(std::vector<double> given, std::vector<double> truth) {
  const auto count = static_cast<Index>(given.size());
  return metrics(Tensor<double>({count}, std::move(given)),
                 Tensor<double>({count}, std::move(truth)));
}

TEST(Metrics, OfNumbersDoneByHand) {
  // errors 1 0 -1; truth squares 1 + 4 + 9; means 2 and 2; deviations 0 0 0 against -1 0 1
  const Metrics flat = of({2, 2, 2}, {1, 2, 3});
  EXPECT_DOUBLE_EQ(flat.nmse, 2.0 / 14);
  EXPECT_DOUBLE_EQ(flat.cosine, 12 / std::sqrt(12.0 * 14));
  EXPECT_TRUE(std::isnan(flat.pearson));
  EXPECT_DOUBLE_EQ(flat.max_relative, 1);
  // deviations 0 1 -1 against -1 0 1
  EXPECT_DOUBLE_EQ(of({2, 3, 1}, {1, 2, 3}).pearson, -0.5);
}

TEST(Metrics, OfEqualNumbersArePerfect) {
  for (const std::vector<double>& same : {std::vector<double>{1, 2}, {0, 0}, {3, 3}, {}}) {
    const Metrics found = of(same, same);
    EXPECT_EQ(found.nmse, 0);
    EXPECT_EQ(found.cosine, 1);
    EXPECT_EQ(found.pearson, 1);
    EXPECT_EQ(found.max_relative, 0);
  }
}

// A factor changes no angle and no correlation; a shift no correlation.
TEST(Metrics, SeeWhatTheyAreBlindTo) {
  const Metrics twice = of({2, 4, 6}, {1, 2, 3});
  EXPECT_NEAR(twice.cosine, 1, 1e-15);
  EXPECT_NEAR(twice.pearson, 1, 1e-15);
  EXPECT_DOUBLE_EQ(twice.nmse, 1);
  // A billion away, sums of squares would have no digits left for the deviations.
  EXPECT_NEAR(of({1e9 + 2, 1e9 + 3, 1e9 + 1}, {1, 2, 3}).pearson, -0.5, 1e-9);
}

TEST(Metrics, CountWhatIsNotFinite) {
  const Metrics same = of({1, kNan, -kInfinity}, {1, kNan, -kInfinity});
  EXPECT_EQ(same.not_finite, 2);
  EXPECT_EQ(same.nmse, 0);
  const Metrics torn = of({1, kNan}, {1, 2});
  EXPECT_EQ(torn.nmse, kInfinity);
  EXPECT_EQ(torn.max_relative, kInfinity);
}

TEST(Metrics, AreInfiniteAgainstZero) {
  EXPECT_EQ(of({1e-9, 1}, {0, 1}).max_relative, kInfinity);
  EXPECT_EQ(of({1e-9}, {0}).nmse, kInfinity);
}

}  // namespace
}  // namespace attn
