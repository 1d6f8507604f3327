#include "io/tensor_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace attn {

Shape position_of(Index flat, const Shape& shape) {
  Shape at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = flat % shape[i];
    flat /= shape[i];
  }
  return at;
}

template <class T>
TensorSummary summarize(const Shape& shape, std::span<const T> values) {
  TensorSummary summary;
  summary.count = static_cast<Index>(values.size());
  // Welford 1962: no catastrophic cancellation, one pass.
  double squares = 0;
  Index seen = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) {
      if (!summary.first_nonfinite) {
        summary.first_nonfinite = position_of(static_cast<Index>(i), shape);
      }
      ++(std::isnan(value) ? summary.nan : value > 0 ? summary.plus_inf : summary.minus_inf);
      continue;
    }
    summary.min = seen == 0 ? value : std::min(summary.min, value);
    summary.max = seen == 0 ? value : std::max(summary.max, value);
    ++seen;
    const double away = value - summary.mean;
    summary.mean += away / static_cast<double>(seen);
    squares += away * (value - summary.mean);
  }
  if (seen > 0) summary.deviation = std::sqrt(squares / static_cast<double>(seen));
  return summary;
}

template TensorSummary summarize(const Shape&, std::span<const float>);
template TensorSummary summarize(const Shape&, std::span<const double>);
template TensorSummary summarize(const Shape&, std::span<const std::int64_t>);
template TensorSummary summarize(const Shape&, std::span<const std::uint64_t>);
template TensorSummary summarize(const Shape&, std::span<const std::int32_t>);
template TensorSummary summarize(const Shape&, std::span<const std::uint8_t>);

}  // namespace attn
