#include "ops/dropout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/rng.h"
#include "ops/ops_test_support.h"

namespace attn {
namespace {

double share_dropped(const DropoutMask& mask, Index rows, Index cols) {
  double dropped = 0;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) dropped += is_dropped(mask, 0, i, j) ? 1 : 0;
  }
  return dropped / static_cast<double>(rows * cols);
}

// Five deviations of the mean of so many coins.
double chance(double rate, Index rows, Index cols) {
  return 5 * std::sqrt(rate * (1 - rate) / static_cast<double>(rows * cols));
}

// The definition, spelled out for one number: word 3 of counter 9, row 4, head 2.
TEST(Dropout, ANumberIsHiddenByItsPlace) {
  const Philox::Counter derived =
      Philox::block({6, 9, 8, static_cast<std::uint32_t>(RandomPurpose::kDropout)}, {5, 0});
  const Philox::Counter bits = Philox::block({9, 4, 2, 0}, {derived[0], derived[1]});
  const double at = static_cast<double>(bits[3]) / 4294967296.0;
  // Column 57 lies in block 1 (32 .. 63), at 25 = 3 * 8 + 1.
  EXPECT_FALSE(is_dropped(dropout_mask(at, 5, 8, 6, 9), 2, 4, 57));
  EXPECT_TRUE(is_dropped(dropout_mask(at + 1e-9, 5, 8, 6, 9), 2, 4, 57));
}

TEST(Dropout, HidesTheShareOfTheRate) {
  for (const double rate : {0.0, 0.01, 0.1, 0.5, 0.9, 0.999}) {
    EXPECT_NEAR(share_dropped(dropout_mask(rate, 1, 2, 3, 4), 300, 257), rate,
                chance(rate, 300, 257) + 1e-9)
        << rate;
  }
}

// Two masks that have nothing to do with each other hide the same number at rate^2.
TEST(Dropout, SeedUpdateLayerSequenceAndHeadDrawApart) {
  constexpr double kRate = 0.5;
  const DropoutMask base = dropout_mask(kRate, 1, 2, 3, 4);
  DropoutMask next_row = base;
  next_row.first_row = 1;
  struct Other {
    const char* what;
    DropoutMask mask;
    Index head;
  };
  for (const Other& other : {Other{"seed", dropout_mask(kRate, 2, 2, 3, 4), 0},
                             Other{"upper half of the seed",
                                   dropout_mask(kRate, 1 | std::uint64_t{1} << 32, 2, 3, 4), 0},
                             Other{"update", dropout_mask(kRate, 1, 3, 3, 4), 0},
                             Other{"layer", dropout_mask(kRate, 1, 2, 4, 4), 0},
                             Other{"sequence", dropout_mask(kRate, 1, 2, 3, 5), 0},
                             Other{"head", base, 1}, Other{"row", next_row, 0}}) {
    double both = 0;
    for (Index i = 0; i < 200; ++i) {
      for (Index j = 0; j < 100; ++j) {
        both += is_dropped(base, 0, i, j) && is_dropped(other.mask, other.head, i, j) ? 1 : 0;
      }
    }
    EXPECT_NEAR(both / 20000, kRate * kRate, chance(kRate * kRate, 200, 100)) << other.what;
  }
}

template <class T>
void expect_dropped_by_definition(Index rows, Index cols) {
  DropoutMask mask = dropout_mask(0.3, 9, 1, 2, 3);
  mask.first_row = 6;
  const auto x = random_tensor<T>({rows, cols}, 1);
  Tensor<T> y = x;
  drop<T>(mask, y.matrix());
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      const T kept = x.matrix()(i, j) * static_cast<T>(1 / 0.7);
      ASSERT_EQ(y.matrix()(i, j), is_dropped(mask, 0, i, j) ? T{0} : kept) << i << ' ' << j;
    }
  }
}

TEST(Dropout, DropHidesAndScales) {
  for (const Index cols : {1, 7, 31, 32, 33, 64, 100}) {
    expect_dropped_by_definition<float>(5, cols);
    expect_dropped_by_definition<double>(5, cols);
  }
}

TEST(Dropout, AHiddenNumberIsZeroWhateverItWas) {
  Tensor<float> x({4, 64});
  for (float& value : x.values) value = std::numeric_limits<float>::quiet_NaN();
  const DropoutMask mask = dropout_mask(0.5, 9, 1, 2, 3);
  drop<float>(mask, x.matrix());
  for (Index j = 0; j < 64; ++j) {
    if (is_dropped(mask, 0, 2, j)) {
      EXPECT_EQ(x.matrix()(2, j), 0.0F) << j;
    } else {
      EXPECT_TRUE(std::isnan(x.matrix()(2, j))) << j;
    }
  }
}

TEST(Dropout, RateZeroChangesNoBitAndRateOneIsNone) {
  const auto x = random_tensor<float>({3, 50}, 2);
  Tensor<float> y = x;
  drop<float>(dropout_mask(0, 1, 1, 1, 1), y.matrix());
  EXPECT_EQ(x.values, y.values);
  EXPECT_THROW(dropout_mask(1, 1, 1, 1, 1), ShapeError);
  EXPECT_THROW(dropout_mask(-0.1, 1, 1, 1, 1), ShapeError);
  EXPECT_THROW(dropout_mask(std::nan(""), 1, 1, 1, 1), ShapeError);
}

}  // namespace
}  // namespace attn
