#include "cli/chart_ticks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/picture.h"
#include "core/text.h"

namespace attn::cli {
namespace {

// A last bit of rounding must not lose the power at an end, nor the last value of a sine the 1.
constexpr double kSlack = 1e-9;
constexpr double kLinearSlack = 0.02;

std::vector<double> linear_ticks(double low, double high, int most) {
  const double width = high - low;
  const double power = std::pow(10.0, std::floor(std::log10(width / most)));
  for (const double times : {1.0, 2.0, 5.0, 10.0, 20.0}) {
    const double step = times * power;
    const double first = std::ceil((low - kLinearSlack * width) / step);
    const double last = std::floor((high + kLinearSlack * width) / step);
    if (last - first + 1 > most) continue;
    std::vector<double> ticks;
    for (double i = first; i <= last; ++i) ticks.push_back(i == 0 ? 0.0 : i * step);
    return ticks;
  }
  return {};
}

std::vector<double> power_ticks(double low, double high, int most, double base) {
  const double first = std::ceil(std::log(low) / std::log(base) - kSlack);
  const double last = std::floor(std::log(high) / std::log(base) + kSlack);
  const double step = std::max(1.0, std::ceil((last - first + 1) / most));
  std::vector<double> ticks;
  for (double power = first; power <= last; power += step) ticks.push_back(std::pow(base, power));
  return ticks;
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int most, AxisKind kind) {
  if (!(high > low)) return {low};
  std::vector<double> ticks = kind == AxisKind::kLinear ? linear_ticks(low, high, most)
                              : kind == AxisKind::kLog2 ? power_ticks(low, high, most, 2.0)
                                                        : power_ticks(low, high, most, 10.0);
  if (ticks.size() >= 2) return ticks;
  return {low, high};
}

std::string binary_tick(double count) {
  constexpr Index kKibi = 1024;
  const auto whole = static_cast<Index>(std::llround(count));
  if (whole == 0 || whole % kKibi != 0) return grouped(whole);
  if (whole % (kKibi * kKibi) == 0) return fmt::format("{} Mi", grouped(whole / (kKibi * kKibi)));
  return fmt::format("{} Ki", grouped(whole / kKibi));
}

std::string bytes_tick(double bytes) {
  return short_size_text(static_cast<Index>(std::llround(bytes)));
}

}  // namespace attn::cli
