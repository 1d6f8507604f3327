#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/rng.h"
#include "core/tensor.h"

namespace attn {

/// Numbers uniform in (-spread, spread), the same for every machine.
template <class T>
Tensor<T> random_tensor(Shape shape, std::uint32_t stream, double spread = 1.0) {
  Rng rng(2, RandomPurpose::kExample, stream);
  Tensor<T> made(std::move(shape));
  for (T& value : made.values) value = static_cast<T>(rng.uniform(-spread, spread));
  return made;
}

/// The same numbers in another type.
template <class To, class From>
Tensor<To> converted(const Tensor<From>& from) {
  Tensor<To> made(from.shape);
  for (std::size_t i = 0; i < made.values.size(); ++i) {
    made.values[i] = static_cast<To>(from.values[i]);
  }
  return made;
}

/// Holds `gradient`, of the scalar that `loss` returns by each element of `values`, to differences
/// of that scalar. Four points, so that the step can be large: what is left is h^4 times the fifth
/// derivative, under 1e-12 here, and rounding of the loss over h, about 1e-13.
inline void expect_gradient(const std::function<double()>& loss, std::vector<double>& values,
                            const std::vector<double>& gradient, const std::string& what) {
  constexpr double kStep = 5e-4;
  ASSERT_EQ(values.size(), gradient.size()) << what;
  double largest = 0;
  for (const double g : gradient) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double kept = values[i];
    const auto at = [&](double moved) {
      values[i] = kept + moved;
      return loss();
    };
    const double near = at(kStep) - at(-kStep);
    const double far = at(2 * kStep) - at(-2 * kStep);
    values[i] = kept;
    const double numeric = (8 * near - far) / (12 * kStep);
    const double limit =
        1e-6 * std::max({std::abs(gradient[i]), std::abs(numeric), 1e-3 * largest, 1e-6});
    ASSERT_NEAR(gradient[i], numeric, limit) << what << " at " << i;
  }
}

/// The sum of the products: a scalar whose gradient by x is y.
inline double inner(const std::vector<double>& x, const std::vector<double>& y) {
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
  return total;
}

}  // namespace attn
