#include "bench/samples.h"

#include <algorithm>
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

}  // namespace attn
