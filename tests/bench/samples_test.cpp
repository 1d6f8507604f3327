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
}

TEST(Samples, NoSampleIsNotANumber) {
  const Samples samples;
  EXPECT_EQ(samples.count(), 0);
  for (const double value : {samples.minimum(), samples.median(), samples.iqr()}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Samples, KeepsTheOrderOfMeasuring) {
  Samples samples;
  for (const std::int64_t value : {3, 1, 2}) samples.add(value);
  EXPECT_EQ(samples.median(), 2);
  EXPECT_EQ(samples.values(), (std::vector<std::int64_t>{3, 1, 2}));
}

}  // namespace
}  // namespace attn
