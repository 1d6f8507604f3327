#include "core/index.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace attn {
namespace {

constexpr Index kLargest = std::numeric_limits<Index>::max();

TEST(CheckedArithmetic, TellsWhatLeaves63Bits) {
  EXPECT_EQ(checked_mul(3, 4), 12);
  EXPECT_EQ(checked_mul(kLargest, 1), kLargest);
  EXPECT_EQ(checked_mul(kLargest / 2 + 1, 2), std::nullopt);
  EXPECT_EQ(checked_add(kLargest - 1, 1), kLargest);
  EXPECT_EQ(checked_add(kLargest, 1), std::nullopt);
}

TEST(CheckedArithmetic, ProductOfExtents) {
  const auto product = [](std::vector<Index> extents) { return checked_product(extents); };
  EXPECT_EQ(product({}), 1);
  EXPECT_EQ(product({2, 3, 4}), 24);
  EXPECT_EQ(product({2, -1}), std::nullopt);
  EXPECT_EQ(product({kLargest, 2}), std::nullopt);
  // Nothing is in it, however large the other extents are.
  EXPECT_EQ(product({kLargest, 2, 0}), 0);
}

}  // namespace
}  // namespace attn
