#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/index.h"

namespace attn {

/// Numbers as a type keeps them in memory, little-endian: floats rounded to nearest, bool as 0 or
/// 1. Nothing where an integer type does not hold one of them. T: double or int64.
template <class T>
std::optional<std::vector<std::byte>> number_bytes(std::span<const T> values, DType type);

}  // namespace attn
