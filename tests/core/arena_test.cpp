#include "core/arena.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace attn {
namespace {

TEST(Arena, AlignsAndDoesNotOverlap) {
  Arena arena;
  const Matrix<float> a = arena.zeros<float>(3, 5);
  const Matrix<float> b = arena.zeros<float>(2, 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data()) % 64, 0U);
  a(2, 4) = 7.0F;
  EXPECT_EQ(b(0, 0), 0.0F);
  EXPECT_GE(b.data(), a.data() + a.size());
}

TEST(Arena, ScopeGivesBackAndTheSecondPassAllocatesNothing) {
  Arena arena;
  std::size_t after_first = 0;
  float* first = nullptr;
  for (int pass = 0; pass < 3; ++pass) {
    const Arena::Scope scope(arena);
    float* p = arena.allocate<float>(1 << 20);  // larger than the smallest block
    arena.allocate<double>(1 << 19);
    if (pass == 0) {
      first = p;
      after_first = arena.reserved_bytes();
    }
    EXPECT_EQ(p, first);
    EXPECT_EQ(arena.reserved_bytes(), after_first);
  }
  EXPECT_EQ(arena.peak_bytes(), std::size_t{8} << 20);
}

TEST(Arena, RefusesANegativeCount) {
  Arena arena;
  EXPECT_THROW(arena.allocate<float>(-1), ShapeError);
}

}  // namespace
}  // namespace attn
