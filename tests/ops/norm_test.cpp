#include "ops/norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

// (1, 3) has mean 2 and biased variance 1; with eps 3 the divisor is exactly 2.
TEST(LayerNorm, ByHand) {
  const Tensor<double> x({1, 2}, {1, 3});
  const std::vector<double> weight{10, 20}, bias{1, 2};
  Tensor<double> y({1, 2});
  double mean = 0, rstd = 0;
  layer_norm<double>(x.matrix(), weight.data(), bias.data(), 3.0, y.matrix(), &mean, &rstd);
  EXPECT_EQ(mean, 2.0);
  EXPECT_EQ(rstd, 0.5);
  EXPECT_EQ(y.values, (std::vector<double>{-4, 12}));
  layer_norm<double>(x.matrix(), weight.data(), nullptr, 3.0, y.matrix(), &mean, &rstd);
  EXPECT_EQ(y.values, (std::vector<double>{-5, 10}));
}

// (1, 7) has the mean square 25; eps 0.
TEST(RmsNorm, ByHand) {
  const Tensor<double> x({1, 2}, {1, 7});
  const std::vector<double> weight{10, 20};
  Tensor<double> y({1, 2});
  double rstd = 0;
  rms_norm<double>(x.matrix(), weight.data(), 0.0, y.matrix(), &rstd);
  EXPECT_NEAR(rstd, 0.2, 1e-16);
  EXPECT_NEAR(y.values[0], 2, 1e-15);
  EXPECT_NEAR(y.values[1], 28, 1e-14);
}

class NormWidth : public ::testing::TestWithParam<Index> {};

TEST_P(NormWidth, LayerNormGradient) {
  const Index dim = GetParam();
  auto x = random_tensor<double>({3, dim}, 1);
  auto weight = random_tensor<double>({dim}, 2);
  auto bias = random_tensor<double>({dim}, 3);
  const auto d_y = random_tensor<double>({3, dim}, 4);
  constexpr double kEps = 1e-2;  // large, so that one column (variance 0) has a smooth loss
  std::vector<double> mean(3), rstd(3);
  Tensor<double> y({3, dim});
  const auto loss = [&] {
    layer_norm<double>(x.matrix(), weight.data(), bias.data(), kEps, y.matrix(), mean.data(),
                       rstd.data());
    return inner(y.values, d_y.values);
  };
  loss();
  Tensor<double> d_x({3, dim}), d_weight({dim}), d_bias({dim});
  layer_norm_backward<double>(x.matrix(), weight.data(), mean.data(), rstd.data(), d_y.matrix(),
                              d_x.matrix(), d_weight.data(), d_bias.data());
  expect_gradient(loss, x.values, d_x.values, "d_x");
  expect_gradient(loss, weight.values, d_weight.values, "d_weight");
  expect_gradient(loss, bias.values, d_bias.values, "d_bias");
}

TEST_P(NormWidth, RmsNormGradient) {
  const Index dim = GetParam();
  auto x = random_tensor<double>({3, dim}, 1);
  auto weight = random_tensor<double>({dim}, 2);
  const auto d_y = random_tensor<double>({3, dim}, 4);
  std::vector<double> rstd(3);
  Tensor<double> y({3, dim});
  const auto loss = [&] {
    rms_norm<double>(x.matrix(), weight.data(), 1e-2, y.matrix(), rstd.data());
    return inner(y.values, d_y.values);
  };
  loss();
  Tensor<double> d_x({3, dim}), d_weight({dim});
  rms_norm_backward<double>(x.matrix(), weight.data(), rstd.data(), d_y.matrix(), d_x.matrix(),
                            d_weight.data());
  expect_gradient(loss, x.values, d_x.values, "d_x");
  expect_gradient(loss, weight.values, d_weight.values, "d_weight");
}

// A large common offset: the two-pass variance keeps its digits.
TEST_P(NormWidth, FloatIsNearDouble) {
  const Index dim = GetParam();
  auto x = random_tensor<double>({4, dim}, 1);
  for (double& value : x.values) value = static_cast<double>(static_cast<float>(value + 100));
  const auto weight = random_tensor<double>({dim}, 2);
  const auto d_y = random_tensor<double>({4, dim}, 4);
  const auto x_f = converted<float>(x), weight_f = converted<float>(weight),
             d_y_f = converted<float>(d_y);
  constexpr double kEps = 1e-5;
  Tensor<double> y({4, dim}), d_x({4, dim}), d_weight({dim}), d_bias({dim});
  Tensor<float> y_f({4, dim}), d_x_f({4, dim}), d_weight_f({dim}), d_bias_f({dim});
  std::vector<double> mean(4), rstd(4);
  std::vector<float> mean_f(4), rstd_f(4);
  layer_norm<double>(x.matrix(), weight.data(), nullptr, kEps, y.matrix(), mean.data(),
                     rstd.data());
  layer_norm_backward<double>(x.matrix(), weight.data(), mean.data(), rstd.data(), d_y.matrix(),
                              d_x.matrix(), d_weight.data(), d_bias.data());
  layer_norm<float>(x_f.matrix(), weight_f.data(), nullptr, static_cast<float>(kEps), y_f.matrix(),
                    mean_f.data(), rstd_f.data());
  layer_norm_backward<float>(x_f.matrix(), weight_f.data(), mean_f.data(), rstd_f.data(),
                             d_y_f.matrix(), d_x_f.matrix(), d_weight_f.data(), d_bias_f.data());
  // The mean of numbers near 100 is known to some 1e-5; a deviation of about 0.6 divides that.
  const double limit = dim == 1 ? 3e-3 : 2e-4;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(y_f.values[i]), y.values[i], limit) << i;
    ASSERT_NEAR(static_cast<double>(d_x_f.values[i]), d_x.values[i],
                limit * std::max(1.0, std::abs(d_x.values[i])))
        << i;
  }
  for (std::size_t i = 0; i < d_weight.values.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(d_weight_f.values[i]), d_weight.values[i], 4 * limit) << i;
    ASSERT_NEAR(static_cast<double>(d_bias_f.values[i]), d_bias.values[i], 1e-6) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NormWidth, ::testing::Values(1, 2, 7, 16, 24, 33, 64, 129));

TEST(Norm, BackwardAddsAndBiasMayBeAbsent) {
  const auto x = random_tensor<double>({2, 5}, 1);
  const auto d_y = random_tensor<double>({2, 5}, 2);
  const std::vector<double> weight(5, 1.5);
  std::vector<double> mean(2), rstd(2);
  Tensor<double> y({2, 5});
  layer_norm<double>(x.matrix(), weight.data(), nullptr, 1e-5, y.matrix(), mean.data(),
                     rstd.data());
  Tensor<double> once({2, 5}), twice({2, 5});
  std::vector<double> d_weight(5), d_weight_twice(5);
  const auto add = [&](Tensor<double>& d_x, std::vector<double>& d_w) {
    layer_norm_backward<double>(x.matrix(), weight.data(), mean.data(), rstd.data(), d_y.matrix(),
                                d_x.matrix(), d_w.data(), nullptr);
  };
  add(once, d_weight);
  add(twice, d_weight_twice);
  add(twice, d_weight_twice);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(twice.values[i], 2 * once.values[i], 1e-15);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(d_weight_twice[i], 2 * d_weight[i], 1e-15);
}

}  // namespace
}  // namespace attn
