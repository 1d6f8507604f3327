#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace attn {

/// Every count, size and index. Signed, so that -1 is a mistake one can see and not four billion.
using Index = std::int64_t;

/// a * b, or nothing where the product leaves 63 bits.
[[nodiscard]] inline std::optional<Index> checked_mul(Index a, Index b) {
  Index product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// a + b, or nothing where the sum leaves 63 bits.
[[nodiscard]] inline std::optional<Index> checked_add(Index a, Index b) {
  Index sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// Product of all extents, 1 for none; nothing where it leaves 63 bits or an extent is negative.
[[nodiscard]] inline std::optional<Index> checked_product(std::span<const Index> extents) {
  bool empty = false;
  for (Index extent : extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) empty = true;
  }
  if (empty) return 0;
  Index product = 1;
  for (Index extent : extents) {
    const auto next = checked_mul(product, extent);
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

}  // namespace attn
