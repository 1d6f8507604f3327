#pragma once

#include <optional>
#include <span>

#include "core/index.h"

namespace attn {

/// Whole numbers of 128 bits, for sums and products on the way to a count of bytes.
__extension__ using Wide = __int128;

/// The product of numbers that are 0 or more; nothing where it leaves 127 bits.
[[nodiscard]] inline std::optional<Wide> wide_product(std::span<const Index> factors) {
  Wide product = 1;
  for (const Index factor : factors) {
    if (__builtin_mul_overflow(product, Wide{factor}, &product)) return std::nullopt;
  }
  return product;
}

/// The number as an Index, or nothing where it does not fit.
[[nodiscard]] inline std::optional<Index> narrowed(Wide number) {
  const auto value = static_cast<Index>(number);
  return Wide{value} == number ? std::optional<Index>(value) : std::nullopt;
}

}  // namespace attn
