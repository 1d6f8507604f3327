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

namespace {

// Mean and deviation as Welford 1962 has them, without catastrophic cancellation. Differences and
// squares of the largest numbers would overflow: those are halved often enough on the way.
template <class T>
void add_moments(std::span<const T> values, TensorSummary& summary) {
  const bool huge = std::max(-summary.min, summary.max) > 0x1p500;
  const double down = huge ? 0x1p-600 : 1.0;
  double mean = 0;
  double squares = 0;
  Index seen = 0;
  for (const T stored : values) {
    const double value = static_cast<double>(stored) * down;
    if (!std::isfinite(value)) continue;
    ++seen;
    const double away = value - mean;
    mean += away / static_cast<double>(seen);
    squares += away * (value - mean);
  }
  if (seen == 0) return;
  summary.mean = mean / down;
  summary.deviation = std::sqrt(squares / static_cast<double>(seen)) / down;
}

}  // namespace

template <class T>
TensorSummary summarize(const Shape& shape, std::span<const T> values) {
  TensorSummary summary;
  summary.count = static_cast<Index>(values.size());
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
  }
  add_moments(values, summary);
  return summary;
}

template TensorSummary summarize(const Shape&, std::span<const float>);
template TensorSummary summarize(const Shape&, std::span<const double>);
template TensorSummary summarize(const Shape&, std::span<const std::int64_t>);
template TensorSummary summarize(const Shape&, std::span<const std::uint64_t>);
template TensorSummary summarize(const Shape&, std::span<const std::int32_t>);
template TensorSummary summarize(const Shape&, std::span<const std::uint8_t>);

}  // namespace attn
