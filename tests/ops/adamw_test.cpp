#include "ops/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

// Step 1 of any gradient g moves a parameter by lr * g / (|g| + eps'): almost exactly lr.
TEST(AdamW, FirstStepByHand) {
  const AdamWSettings settings{
      .lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 0, .weight_decay = 0.5};
  const std::vector<double> gradient{2, -4};
  std::vector<double> m(2), v(2), p{1, 10};
  adamw_update<double>(settings, 1, gradient.data(), m.data(), v.data(), p.data(), 2);
  EXPECT_NEAR(m[0], 0.2, 1e-15);
  EXPECT_NEAR(v[1], 0.016, 1e-15);
  EXPECT_NEAR(p[0], 1 * 0.95 - 0.1, 1e-14);
  EXPECT_NEAR(p[1], 10 * 0.95 + 0.1, 1e-14);
}

// PyTorch's update written out for one number, ten steps, over every length of a vector's rest.
template <class T>
void expect_ten_steps(Index count, double limit) {
  const AdamWSettings settings{.lr = 3e-3};
  auto p = random_tensor<T>({count}, 1);
  std::vector<T> m(p.values.size() + 1), v(p.values.size() + 1);
  m.back() = v.back() = 42;
  std::vector<double> want(p.values.begin(), p.values.end()), want_m(want.size()),
      want_v(want.size());
  for (Index step = 1; step <= 10; ++step) {
    const auto gradient = random_tensor<T>({count}, static_cast<std::uint32_t>(10 + step));
    adamw_update<T>(settings, step, gradient.data(), m.data(), v.data(), p.data(), count);
    const double t = static_cast<double>(step);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto g = static_cast<double>(gradient.values[i]);
      want[i] *= 1 - 3e-3 * 1e-2;
      want_m[i] = 0.9 * want_m[i] + 0.1 * g;
      want_v[i] = 0.999 * want_v[i] + 0.001 * g * g;
      const double denominator = std::sqrt(want_v[i]) / std::sqrt(1 - std::pow(0.999, t)) + 1e-8;
      want[i] -= 3e-3 / (1 - std::pow(0.9, t)) * want_m[i] / denominator;
    }
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(p.values[i]), want[i], limit) << i << " of " << count;
    ASSERT_NEAR(static_cast<double>(m[i]), want_m[i], limit) << i;
    ASSERT_NEAR(static_cast<double>(v[i]), want_v[i], limit) << i;
  }
  EXPECT_EQ(m.back(), T{42});
  EXPECT_EQ(v.back(), T{42});
}

TEST(AdamW, TenStepsEqualTheFormula) {
  for (const Index count : {0, 1, 7, 8, 16, 31, 100}) {
    expect_ten_steps<double>(count, 1e-14);
    expect_ten_steps<float>(count, 1e-6);  // ten roundings of numbers below 1
  }
}

TEST(AdamW, StepsCountFromOne) {
  float x = 0;
  EXPECT_THROW(adamw_update<float>({}, 0, &x, &x, &x, &x, 1), ShapeError);
}

}  // namespace
}  // namespace attn
