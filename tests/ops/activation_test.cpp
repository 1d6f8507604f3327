#include "ops/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

constexpr Activation kAll[] = {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                               Activation::kSilu};

// In long double, by the formulas of the header.
long double truth(Activation f, long double x) {
  switch (f) {
    case Activation::kGelu:
      return 0.5L * x * std::erfc(-x * 0.70710678118654752440L);
    case Activation::kGeluTanh: {
      // 0.5 (1 + tanh u) = 1 / (1 + exp(-2 u))
      const long double u = 0.79788456080286535588L * (x + 0.044715L * x * x * x);
      return x / (1 + std::exp(-2 * u));
    }
    case Activation::kRelu:
      return x > 0 ? x : 0;
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

long double derivative_truth(Activation f, long double x) {
  switch (f) {
    case Activation::kGelu:
      return 0.5L * std::erfc(-x * 0.70710678118654752440L) +
             x * 0.39894228040143267794L * std::exp(-0.5L * x * x);
    case Activation::kGeluTanh: {
      const long double u = 0.79788456080286535588L * (x + 0.044715L * x * x * x);
      const long double s = 1 / (1 + std::exp(-2 * u));
      return s + x * 2 * s * (1 - s) * 0.79788456080286535588L * (1 + 3 * 0.044715L * x * x);
    }
    case Activation::kRelu:
      return x > 0 ? 1 : 0;
    case Activation::kSilu: {
      const long double s = 1 / (1 + std::exp(-x));
      return s * (1 + x * (1 - s));
    }
  }
  return 0;
}

template <class T>
Tensor<T> grid() {
  Tensor<T> x({1, 40003});
  for (Index i = 0; i < x.size(); ++i) {
    x.values[static_cast<std::size_t>(i)] = static_cast<T>(static_cast<double>(i - 20001) / 1000.0);
  }
  return x;
}

// In units of rounding at max(|x|, 1), what is added to a residual stream of x's size. 2 of them
// are what erf, the product and the sum lose by rounding once each; a derivative has an exp of a
// rounded argument more.
template <class T>
void expect_right_on_grid(Activation f) {
  const Tensor<T> x = grid<T>();
  Tensor<T> y(x.shape), both(x.shape), slope(x.shape);
  activate<T>(f, x.matrix(), y.matrix());
  activate_with_slope<T>(f, x.matrix(), both.matrix(), slope.matrix());
  EXPECT_EQ(y.values, both.values);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const auto at = static_cast<long double>(x.values[i]);
    const double unit = static_cast<double>(std::numeric_limits<T>::epsilon()) *
                        std::max(1.0, std::abs(static_cast<double>(at)));
    ASSERT_NEAR(static_cast<double>(y.values[i]), static_cast<double>(truth(f, at)), 2 * unit)
        << "f(" << static_cast<double>(at) << ")";
    ASSERT_NEAR(static_cast<double>(slope.values[i]), static_cast<double>(derivative_truth(f, at)),
                8 * unit)
        << "f'(" << static_cast<double>(at) << ")";
  }
}

TEST(Activation, EqualsTheFormulaOnAGrid) {
  for (const Activation f : kAll) {
    expect_right_on_grid<float>(f);
    expect_right_on_grid<double>(f);
  }
}

// Printed values: gelu(1) by PyTorch's nn.GELU() and by GPT-2's tanh form.
TEST(Activation, TheTwoGelusAreApart) {
  const Tensor<double> x({1, 1}, {1});
  Tensor<double> y({1, 1});
  activate<double>(Activation::kGelu, x.matrix(), y.matrix());
  EXPECT_NEAR(y.values[0], 0.841344746, 5e-10);
  activate<double>(Activation::kGeluTanh, x.matrix(), y.matrix());
  EXPECT_NEAR(y.values[0], 0.841191991, 5e-10);
}

TEST(Activation, FarValuesAndNan) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const Activation f : kAll) {
    const Tensor<float> x({1, 4}, {-200, 200, std::numeric_limits<float>::quiet_NaN(), -1e30F});
    Tensor<float> y(x.shape), slope(x.shape);
    activate_with_slope<float>(f, x.matrix(), y.matrix(), slope.matrix());
    EXPECT_EQ(y.values[0], 0.0F);
    EXPECT_EQ(y.values[1], 200.0F);
    EXPECT_TRUE(std::isnan(y.values[2]));
    EXPECT_EQ(y.values[3], 0.0F);
    EXPECT_EQ(slope.values[0], 0.0F);
    EXPECT_EQ(slope.values[1], 1.0F);
    EXPECT_FALSE(std::isnan(slope.values[3]));
    EXPECT_LT(y.values[1], inf);
  }
}

// Strided views of odd widths: no element outside is touched, none inside is left out.
TEST(Activation, WorksOnColumnSlices) {
  for (const Index cols : {1, 3, 15, 16, 17, 31, 33, 100}) {
    const auto x = random_tensor<float>({3, cols + 5}, 1, 3.0);
    Tensor<float> y({3, cols + 2});
    for (float& value : y.values) value = 77;
    activate<float>(Activation::kGelu, x.matrix().col_block(3, cols),
                    y.matrix().col_block(1, cols));
    for (Index i = 0; i < 3; ++i) {
      EXPECT_EQ(y.matrix()(i, 0), 77.0F);
      EXPECT_EQ(y.matrix()(i, cols + 1), 77.0F);
      for (Index j = 0; j < cols; ++j) {
        const auto at = static_cast<long double>(x.matrix()(i, j + 3));
        ASSERT_NEAR(y.matrix()(i, j + 1), static_cast<float>(truth(Activation::kGelu, at)), 1e-6F);
      }
    }
  }
}

// As a layer keeps it for backward.
TEST(Activation, SlopeMayTakeThePlaceOfX) {
  for (const Activation f : kAll) {
    auto x = random_tensor<float>({3, 21}, 1, 3.0);
    Tensor<float> y(x.shape), slope(x.shape), in_place(x.shape);
    activate_with_slope<float>(f, x.matrix(), y.matrix(), slope.matrix());
    activate_with_slope<float>(f, x.matrix(), in_place.matrix(), x.matrix());
    EXPECT_EQ(in_place.values, y.values);
    EXPECT_EQ(x.values, slope.values);
  }
}

TEST(Swiglu, IsSiluOfGateTimesUpWithItsGradient) {
  auto gate = random_tensor<double>({3, 19}, 1, 4.0);
  auto up = random_tensor<double>({3, 19}, 2, 2.0);
  const auto d_y = random_tensor<double>({3, 19}, 3);
  Tensor<double> y({3, 19}), d_gate({3, 19}), d_up({3, 19});
  swiglu<double>(gate.matrix(), up.matrix(), y.matrix());
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    const auto silu = static_cast<double>(truth(Activation::kSilu, gate.values[i]));
    EXPECT_NEAR(y.values[i], silu * up.values[i], 1e-15);
  }
  swiglu_backward<double>(gate.matrix(), up.matrix(), d_y.matrix(), d_gate.matrix(), d_up.matrix());
  const auto loss = [&] {
    Tensor<double> again({3, 19});
    swiglu<double>(gate.matrix(), up.matrix(), again.matrix());
    return inner(again.values, d_y.values);
  };
  expect_gradient(loss, gate.values, d_gate.values, "d_gate");
  expect_gradient(loss, up.values, d_up.values, "d_up");
}

TEST(Activation, ShapesMustAgree) {
  const Tensor<float> x({2, 3});
  Tensor<float> y({3, 2});
  EXPECT_THROW(activate<float>(Activation::kGelu, x.matrix(), y.matrix()), ShapeError);
}

}  // namespace
}  // namespace attn
