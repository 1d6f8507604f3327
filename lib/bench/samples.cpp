#include "bench/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double Samples::minimum() const {
  if (values_.empty()) return kNothing;
  return static_cast<double>(*std::min_element(values_.begin(), values_.end()));
}

double Samples::quantile(double fraction) const {
  if (values_.empty()) return kNothing;
  std::vector<std::int64_t> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const auto low = static_cast<double>(sorted[below]);
  const auto high = static_cast<double>(sorted[above]);
  return low + (place - static_cast<double>(below)) * (high - low);
}

double Samples::mean() const {
  if (values_.empty()) return kNothing;
  double sum = 0;
  for (const std::int64_t value : values_) sum += static_cast<double>(value);
  return sum / static_cast<double>(values_.size());
}

double Samples::standard_deviation() const {
  if (values_.size() < 2) return kNothing;
  const double center = mean();
  double squares = 0;
  for (const std::int64_t value : values_) {
    const double off = static_cast<double>(value) - center;
    squares += off * off;
  }
  return std::sqrt(squares / static_cast<double>(values_.size() - 1));
}

}  // namespace attn
