#include "bench/samples.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attn {
namespace {

TEST(Samples, OddNumberByHand) {
  // Sorted 1 3 5 7 9: quartiles fall on samples.
  const Samples samples({9, 1, 5, 3, 7});
  EXPECT_EQ(samples.minimum(), 1);
  EXPECT_EQ(samples.median(), 5);
  EXPECT_EQ(samples.quantile(0.25), 3);
  EXPECT_EQ(samples.iqr(), 7 - 3);
  EXPECT_EQ(samples.relative_iqr(), 4.0 / 5.0);
  EXPECT_EQ(samples.mean(), 5);
  // Squares off the mean: 16 4 0 4 16 = 40, by n - 1 = 4: sqrt(10).
  EXPECT_DOUBLE_EQ(samples.standard_deviation(), std::sqrt(10.0));
}

TEST(Samples, EvenNumberIsLinearBetweenNeighbours) {
  // Sorted 10 20 30 40: ranks 0.75, 1.5, 2.25.
  const Samples samples({40, 10, 30, 20});
  EXPECT_EQ(samples.median(), 25);
  EXPECT_EQ(samples.quantile(0.25), 17.5);
  EXPECT_EQ(samples.quantile(0.75), 32.5);
  EXPECT_EQ(samples.iqr(), 15);
}

TEST(Samples, OneSample) {
  const Samples samples({42});
  EXPECT_EQ(samples.minimum(), 42);
  EXPECT_EQ(samples.median(), 42);
  EXPECT_EQ(samples.iqr(), 0);
  EXPECT_TRUE(std::isnan(samples.standard_deviation()));
}

TEST(Samples, NoSampleIsNotANumber) {
  const Samples samples;
  EXPECT_EQ(samples.count(), 0);
  for (const double value : {samples.minimum(), samples.median(), samples.iqr(), samples.mean(),
                             samples.standard_deviation()}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Samples, SpreadOfLargeTimesIsNotLost) {
  // By sum of squares, 1e15 leaves nothing of a spread of 1: the squares differ in digit 30.
  const std::int64_t hour = 1'000'000'000'000'000;
  const Samples samples({hour - 1, hour, hour + 1});
  EXPECT_EQ(samples.standard_deviation(), 1);
}

TEST(Samples, KeepsTheOrderOfMeasuring) {
  Samples samples;
  for (const std::int64_t value : {3, 1, 2}) samples.add(value);
  EXPECT_EQ(samples.median(), 2);
  EXPECT_EQ(samples.values(), (std::vector<std::int64_t>{3, 1, 2}));
}

}  // namespace
}  // namespace attn
