#pragma once

#include <cstddef>

#include "core/index.h"
#include "io/number_layout.h"

namespace attn {

/// Converts `count` stored numbers at `from` (any alignment) into T: float, double, int64, uint64,
/// int32 or uint8. Floats round to nearest; an integer T takes only whole numbers in its range.
/// Returns how many were converted: less than `count` means the next one does not fit T.
template <class T>
[[nodiscard]] Index convert(const StoredType& stored, const std::byte* from, Index count, T* to);

}  // namespace attn
