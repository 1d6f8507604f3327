#include "check/verdict/error_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Stretches that a reader still takes in, and the least tile of keys or rows.
constexpr Index kMostStretches = 16;

double gap(double given, double truth) {
  if (given == truth || (std::isnan(given) && std::isnan(truth))) return 0;
  const double error = std::abs(given - truth);
  return std::isnan(error) ? kInfinity : error;
}

// One by one while they are few, else in stretches of a power of two, as tiles are.
Index stretch_of(Index extent) {
  Index stretch = 1;
  while ((extent + stretch - 1) / stretch > kMostStretches) stretch *= 2;
  return stretch;
}

AxisErrors stretches(const char* name, Index extent) {
  AxisErrors axis;
  axis.axis = name;
  const Index stretch = stretch_of(extent);
  for (Index first = 0; first < extent; first += stretch) {
    ErrorShare share;
    share.first = first;
    share.end = std::min(extent, first + stretch);
    axis.shares.push_back(share);
  }
  return axis;
}

}  // namespace

ErrorSummary summarise_error(const std::string& tensor, const Tensor<double>& given,
                             const Tensor<double>& truth, double limit) {
  require_shape(given.shape == truth.shape && given.rank() == 4,
                "error summary: want two tensors of four axes");
  ErrorSummary summary;
  summary.tensor = tensor;
  summary.count = given.size();
  const char* columns = tensor == "out" ? "feature" : "key";
  std::array<AxisErrors, 4> axes = {
      stretches("sequence", given.dim(0)), stretches("head", given.dim(1)),
      stretches("query", given.dim(2)), stretches(columns, given.dim(3))};
  bool broken = false;
  for (std::size_t n = 0; n < given.values.size() && !broken; ++n) {
    broken = gap(given.values[n], truth.values[n]) == kInfinity;
  }
  double sum = 0;
  std::array<Index, 4> place{};
  std::array<Index, 4> stretch{};
  for (std::size_t axis = 0; axis < 4; ++axis) stretch[axis] = stretch_of(given.shape[axis]);
  for (std::size_t n = 0; n < given.values.size(); ++n) {
    const double error = gap(given.values[n], truth.values[n]);
    // Among numbers that are not finite all others are as nothing.
    const double part = !broken ? error : (error == kInfinity ? 1.0 : 0.0);
    const bool wrong = error > limit;
    sum += part;
    if (wrong) ++summary.wrong;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      ErrorShare& share = axes[axis].shares[static_cast<std::size_t>(place[axis] / stretch[axis])];
      share.share += part;
      share.max_error = std::max(share.max_error, error);
      share.wrong += wrong ? 1 : 0;
      ++share.count;
    }
    for (std::size_t axis = 4; axis-- > 0;) {
      if (++place[axis] < given.shape[axis]) break;
      place[axis] = 0;
    }
  }
  for (AxisErrors& axis : axes) {
    for (ErrorShare& share : axis.shares) share.share = sum > 0 ? share.share / sum : 0;
    if (axis.shares.size() > 1) summary.axes.push_back(std::move(axis));
  }
  return summary;
}

}  // namespace attn
