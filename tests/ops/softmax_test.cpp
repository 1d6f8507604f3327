#include "ops/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Softmax, ByHand) {
  Tensor<double> x({2, 2}, {0, std::log(3.0), 1000, 1000});
  std::vector<double> lse(2);
  softmax_rows(x.matrix(), lse.data());
  EXPECT_NEAR(x.values[0], 0.25, 1e-15);
  EXPECT_NEAR(x.values[1], 0.75, 1e-15);
  EXPECT_EQ(x.values[2], 0.5);
  EXPECT_NEAR(lse[0], std::log(4.0), 1e-15);
  EXPECT_NEAR(lse[1], 1000 + std::log(2.0), 1e-12);
}

TEST(Softmax, HiddenIsExactlyZeroAndAWhollyHiddenRowIsZeros) {
  Tensor<float> x({2, 3}, {1, -kInf, 2, -kInf, -kInf, -kInf});
  std::vector<float> lse(2);
  softmax_rows(x.matrix(), lse.data());
  EXPECT_EQ(x.values[1], 0.0F);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(x.values[i], 0.0F);
  EXPECT_EQ(lse[1], -kInf);
}

TEST(Softmax, NanReachesItsWholeRowAndNoOther) {
  for (const Index at : {0, 5, 39}) {
    Tensor<float> x({2, 40});
    x.matrix()(0, at) = std::numeric_limits<float>::quiet_NaN();
    softmax_rows(x.matrix());
    for (Index j = 0; j < 40; ++j) {
      EXPECT_TRUE(std::isnan(x.matrix()(0, j))) << j;
      EXPECT_NEAR(x.matrix()(1, j), 0.025F, 1e-8F);
    }
  }
}

template <class T>
void expect_near_truth(Index cols, double spread) {
  Tensor<T> x = random_tensor<T>({3, cols + 2}, 1, spread);
  const Tensor<T> before = x;
  const Matrix<T> view = x.matrix().col_block(1, cols);
  std::vector<T> lse(3);
  softmax_rows(view, lse.data());
  const double unit = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (Index i = 0; i < 3; ++i) {
    long double largest = -1e30L, total = 0;
    for (Index j = 0; j < cols; ++j) {
      largest = std::max(largest, static_cast<long double>(before.matrix()(i, j + 1)));
    }
    for (Index j = 0; j < cols; ++j) {
      total += std::exp(static_cast<long double>(before.matrix()(i, j + 1)) - largest);
    }
    for (Index j = 0; j < cols; ++j) {
      const auto want = static_cast<double>(
          std::exp(static_cast<long double>(before.matrix()(i, j + 1)) - largest) / total);
      // The argument of exp rounds at 2 * spread, the sum at its length.
      const double limit = want * unit * (4 + 2 * spread + std::sqrt(static_cast<double>(cols)));
      ASSERT_NEAR(static_cast<double>(view(i, j)), want, limit + 1e-38) << i << ", " << j;
    }
    ASSERT_NEAR(static_cast<double>(lse[static_cast<std::size_t>(i)]),
                static_cast<double>(largest + std::log(total)),
                unit * (4 + 2 * spread + std::sqrt(static_cast<double>(cols))));
    EXPECT_EQ(x.matrix()(i, 0), before.matrix()(i, 0));
    EXPECT_EQ(x.matrix()(i, cols + 1), before.matrix()(i, cols + 1));
  }
}

TEST(Softmax, IsNearTruthAtEveryWidth) {
  for (const Index cols : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 65, 1000}) {
    for (const double spread : {0.1, 5.0, 80.0}) {
      expect_near_truth<float>(cols, spread);
      expect_near_truth<double>(cols, spread);
    }
  }
}

}  // namespace
}  // namespace attn
