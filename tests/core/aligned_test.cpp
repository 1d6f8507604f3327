#include "core/aligned.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace attn {
namespace {

// The last one is large enough to ask for large pages.
TEST(Aligned, NumbersBeginAtALine) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{17}, std::size_t{3} << 20}) {
    LineVector<float> numbers(count, 1.0F);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % kLineBytes, 0U) << count;
    numbers.back() = 2.0F;
    numbers.push_back(3.0F);
    EXPECT_EQ(numbers[count - 1], 2.0F);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % kLineBytes, 0U) << count;
  }
}

TEST(Aligned, NoBytesAreMemoryToo) {
  const LineBytes none(static_cast<std::byte*>(allocate_lines(0)));
  EXPECT_NE(none, nullptr);
}

TEST(Aligned, WhatCannotBeHadIsBadAlloc) {
  EXPECT_THROW(allocate_lines(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
}

}  // namespace
}  // namespace attn
