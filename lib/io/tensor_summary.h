#pragma once

#include <optional>
#include <span>

#include "core/tensor.h"

namespace attn {

/// What a glance at a tensor should tell. Minimum, maximum, mean and deviation are over the finite
/// numbers alone, and 0 where there are none.
struct TensorSummary {
  Index count = 0;
  Index nan = 0;
  Index plus_inf = 0;
  Index minus_inf = 0;
  std::optional<Shape> first_nonfinite;  ///< row-major first
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;  ///< of the population: divided by the count

  Index nonfinite() const { return nan + plus_inf + minus_inf; }
  Index finite() const { return count - nonfinite(); }
};

/// T: float, double, int64, uint64, int32 or uint8.
template <class T>
TensorSummary summarize(const Shape& shape, std::span<const T> values);

/// The row-major position as one index per axis.
Shape position_of(Index flat, const Shape& shape);

}  // namespace attn
