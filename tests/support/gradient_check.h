#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace attn::testing {

/// f's slope by central differences over six points, so that a step large enough to drown rounding
/// (1e-15 / 2e-3) leaves an error of order step^6.
inline double central_difference(double& x, const std::function<double()>& f) {
  constexpr double kStep = 2e-3;
  const double kept = x;
  const auto pair = [&](double factor) {
    x = kept + factor * kStep;
    const double above = f();
    x = kept - factor * kStep;
    const double below = f();
    x = kept;
    return above - below;
  };
  return (45 * pair(1) - 9 * pair(2) + pair(3)) / (60 * kStep);
}

/// Holds a gradient to central differences in every element:
/// |a - n| <= 1e-6 * max(|a|, |n|, a thousandth of the tensor's largest, 1e-6).
inline void expect_gradient(const std::string& what, std::span<double> x,
                            std::span<const double> analytic, const std::function<double()>& f) {
  ASSERT_EQ(x.size(), analytic.size()) << what;
  double largest = 0;
  for (const double a : analytic) largest = std::max(largest, std::abs(a));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = analytic[i];
    const double n = central_difference(x[i], f);
    const double limit = 1e-6 * std::max({std::abs(a), std::abs(n), largest / 1000, 1e-6});
    ASSERT_LE(std::abs(a - n), limit)
        << what << '[' << i << "]: backward says " << a << ", differences say " << n;
  }
}

}  // namespace attn::testing
