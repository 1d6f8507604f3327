#include "ops/attend_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

// weights_of_scores with a log-sum-exp of 0 is exp itself, the one of all kernels.
template <class T>
std::vector<T> exponentials(const std::vector<T>& x) {
  std::vector<T> y(x.size());
  weights_of_scores<T>(x.data(), static_cast<Index>(x.size()), T{0}, y.data());
  return y;
}

template <class T>
void expect_exp_on_grid(double low, double high, double units) {
  std::vector<T> x;
  for (Index i = 0; i <= 200000; ++i) {
    x.push_back(static_cast<T>(low + (high - low) * static_cast<double>(i) / 200000));
  }
  const std::vector<T> y = exponentials(x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double want = std::exp(static_cast<long double>(x[i]));
    worst = std::max(worst, static_cast<double>(std::abs(y[i] / want - 1)));
  }
  EXPECT_LE(worst, units * static_cast<double>(std::numeric_limits<T>::epsilon()));
}

// 1e-8 of the polynomial and three roundings: under one unit of the last place (2^-23 relative).
TEST(Exp, IsWithinOneUnitOnAGrid) {
  expect_exp_on_grid<float>(-87.3, 87.9, 1.0);
  expect_exp_on_grid<float>(-1, 1, 1.0);
  expect_exp_on_grid<double>(-700, 700, 1.0);
}

TEST(Exp, AtTheEnds) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{0,     -kInf, kInf, 200, -200, std::numeric_limits<float>::quiet_NaN(),
                             -1e30F};
  const std::vector<float> y = exponentials(x);
  EXPECT_EQ(y[0], 1.0F);
  EXPECT_EQ(y[1], 0.0F);
  EXPECT_EQ(y[2], kInf);
  EXPECT_EQ(y[3], kInf);
  EXPECT_EQ(y[4], 0.0F);
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(y[6], 0.0F);
  const std::vector<double> wide = exponentials<double>({-1e300, 800, std::nan("")});
  EXPECT_EQ(wide[0], 0.0);
  EXPECT_TRUE(std::isinf(wide[1]));
  EXPECT_TRUE(std::isnan(wide[2]));
}

template <class T>
void expect_turned(Index rows, Index cols) {
  const auto x = random_tensor<T>({rows, cols + 3}, 1);
  const Index width = padded(rows);
  Tensor<T> turned({cols, width});
  for (T& value : turned.values) value = 9;
  const auto view = x.matrix().col_block(2, cols);
  turn<T>(view, turned.matrix());
  for (Index c = 0; c < cols; ++c) {
    for (Index j = 0; j < width; ++j) {
      ASSERT_EQ(turned.matrix()(c, j), j < rows ? view(j, c) : T{0}) << rows << " x " << cols;
    }
  }
}

TEST(Turn, EveryElementAndZerosBehind) {
  for (const Index rows : {1, 2, 3, 4, 12, 17, 128}) {
    for (const Index cols : {1, 2, 5, 16, 64}) {
      expect_turned<float>(rows, cols);
      expect_turned<double>(rows, cols);
    }
  }
}

// Both walks, all rests of rows and columns, with and without adding.
TEST(Multiply, EqualsDoubleSums) {
  for (const Index rows : {1, 2, 5, 6, 7, 20}) {
    for (const Index cols : {1, 7, 16, 33, 64, 100}) {
      for (const bool walk_columns : {false, true}) {
        for (const bool add : {false, true}) {
          constexpr Index kInner = 19;
          const auto a =
              random_tensor<float>(walk_columns ? Shape{kInner, rows} : Shape{rows, kInner}, 1);
          const auto b = random_tensor<float>({kInner, cols}, 2);
          auto c = random_tensor<float>({rows, cols + 1}, 3);
          const auto before = c;
          const Walk<float> walk =
              walk_columns ? Walk<float>{a.data(), 1, rows} : Walk<float>{a.data(), kInner, 1};
          multiply<float>(walk, b.matrix(), {}, add, c.matrix().col_block(0, cols));
          for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < cols; ++j) {
              double sum = add ? static_cast<double>(before.matrix()(i, j)) : 0;
              for (Index k = 0; k < kInner; ++k) {
                sum += static_cast<double>(a.data()[i * walk.row_step + k * walk.k_step]) *
                       static_cast<double>(b.matrix()(k, j));
              }
              ASSERT_NEAR(static_cast<double>(c.matrix()(i, j)), sum, 20 * 1.2e-7)
                  << rows << " x " << cols << " at " << i << ", " << j;
            }
            ASSERT_EQ(c.matrix()(i, cols), before.matrix()(i, cols));
          }
        }
      }
    }
  }
}

// What ranges leave out is not read: NaN there does not show.
TEST(Multiply, RangesOfKAreNotReadBeyond) {
  constexpr Index kRows = 12;
  Tensor<float> a({kRows, 30}), b({30, 20});
  std::vector<KeyRange> ranges;
  for (Index r = 0; r < kRows; ++r) {
    ranges.push_back({r, r + 4});
    for (Index k = r; k < r + 4; ++k) a.matrix()(r, k) = 1;
  }
  for (Index k = 0; k < 30; ++k) {
    for (Index j = 0; j < 20; ++j) {
      b.matrix()(k, j) = k < kRows + 3 ? static_cast<float>(k) : std::nanf("");
    }
  }
  Tensor<float> c({kRows, 20});
  multiply<float>({a.data(), 30, 1}, b.matrix(), {ranges.data(), nullptr}, false, c.matrix());
  for (Index r = 0; r < kRows; ++r) {
    for (Index j = 0; j < 20; ++j) EXPECT_EQ(c.matrix()(r, j), static_cast<float>(4 * r + 6));
  }
}

TEST(AllFinite, FindsWhatIsNot) {
  for (const float odd : {std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const Index at : {0, 20, 36}) {
      auto x = random_tensor<float>({3, 40}, 1, 1e38);
      x.matrix()(1, 38) = odd;  // beside the view
      EXPECT_TRUE(all_finite<float>(x.matrix().col_block(0, 37)));
      x.matrix()(1, at) = odd;
      EXPECT_FALSE(all_finite<float>(x.matrix().col_block(0, 37)));
    }
  }
}

}  // namespace
}  // namespace attn
