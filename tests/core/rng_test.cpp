#include "core/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/error.h"

namespace attn {
namespace {

// The known answer for key 0 and counter 0 in Random123's kat_vectors, philox4x32 with 10 rounds.
TEST(Rng, IsPhilox4x32With10Rounds) {
  Rng rng(0, static_cast<RandomPurpose>(0));
  EXPECT_EQ(rng.bits(), 0x6627e8d5U);
  EXPECT_EQ(rng.bits(), 0xe169c58dU);
  EXPECT_EQ(rng.bits(), 0xbc57ac4cU);
  EXPECT_EQ(rng.bits(), 0x9b00dbd8U);
}

TEST(Rng, StreamsPurposesAndSeedsAreApart) {
  const auto first = [](std::uint64_t seed, RandomPurpose purpose, std::uint32_t stream) {
    return Rng(seed, purpose, stream).bits();
  };
  const auto base = first(1, RandomPurpose::kSampling, 0);
  EXPECT_EQ(base, first(1, RandomPurpose::kSampling, 0));
  EXPECT_NE(base, first(2, RandomPurpose::kSampling, 0));
  EXPECT_NE(base, first(std::uint64_t{1} << 32 | 1, RandomPurpose::kSampling, 0));
  EXPECT_NE(base, first(1, RandomPurpose::kDropout, 0));
  EXPECT_NE(base, first(1, RandomPurpose::kSampling, 1));
}

TEST(Rng, MomentsOfUniformAndNormal) {
  Rng rng(3, RandomPurpose::kExample);
  constexpr int kCount = 200000;
  double sum = 0, square = 0, normal_sum = 0, normal_square = 0, normal_fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    square += u * u;
    const double z = rng.normal();
    normal_sum += z;
    normal_square += z * z;
    normal_fourth += z * z * z * z;
  }
  // Five standard errors of each mean.
  EXPECT_NEAR(sum / kCount, 0.5, 5 * 0.2887 / std::sqrt(kCount));
  EXPECT_NEAR(square / kCount, 1.0 / 3, 5 * 0.2981 / std::sqrt(kCount));
  EXPECT_NEAR(normal_sum / kCount, 0.0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(normal_square / kCount, 1.0, 5 * 1.4142 / std::sqrt(kCount));
  EXPECT_NEAR(normal_fourth / kCount, 3.0, 5 * 9.798 / std::sqrt(kCount));
}

TEST(Rng, BelowIsEvenAndChecksItsRange) {
  Rng rng(4, RandomPurpose::kExample);
  std::vector<int> counts(9);
  for (int i = 0; i < 90000; ++i) ++counts[static_cast<std::size_t>(rng.below(9))];
  for (int count : counts) EXPECT_NEAR(count, 10000, 5 * 94.3);
  EXPECT_EQ(rng.below(1), 0);
  EXPECT_THROW(rng.below(0), ShapeError);
}

}  // namespace
}  // namespace attn
