#include "ops/vector.h"

#include <gtest/gtest.h>

#include "ops/ops_test_support.h"

namespace attn {
namespace {

TEST(Vector, ByHand) {
  const Tensor<float> a({2, 2}, {1, 2, 3, 4}), b({2, 2}, {10, 20, 30, 40});
  Tensor<float> y({2, 2}, {100, 100, 100, 100});
  add<float>(a.matrix(), y.matrix());
  EXPECT_EQ(y.values, (std::vector<float>{101, 102, 103, 104}));
  sum<float>(a.matrix(), b.matrix(), y.matrix());
  EXPECT_EQ(y.values, (std::vector<float>{11, 22, 33, 44}));
  add_row<float>(std::vector<float>{1, -1}.data(), y.matrix());
  EXPECT_EQ(y.values, (std::vector<float>{12, 21, 34, 43}));
  std::vector<float> row{1000, 2000};
  add_column_sums<float>(y.matrix(), row.data());
  EXPECT_EQ(row, (std::vector<float>{1046, 2064}));
  scale<float>(0.5F, row.data(), 2);
  EXPECT_EQ(row, (std::vector<float>{523, 1032}));
  add<float>(std::vector<float>{1, 2}.data(), row.data(), 2);
  EXPECT_EQ(row, (std::vector<float>{524, 1034}));
  EXPECT_EQ(sum_of_squares(a.data(), 4), 30.0);
}

// Every length of a vector's rest, at every alignment: same numbers, nothing beside touched.
TEST(Vector, ResultsDoNotDependOnAlignment) {
  const auto x = random_tensor<float>({200}, 1), y = random_tensor<float>({200}, 2);
  for (const Index count : {0, 1, 3, 15, 16, 17, 63, 100}) {
    std::vector<float> first;
    double first_squares = 0;
    for (const Index shift : {0, 1, 5, 7}) {
      std::vector<float> x_at(220), y_at(220, 7.0F);
      std::copy_n(x.values.begin(), count, x_at.begin() + shift);
      std::copy_n(y.values.begin(), count, y_at.begin() + shift);
      add<float>(x_at.data() + shift, y_at.data() + shift, count);
      EXPECT_EQ(y_at[static_cast<std::size_t>(count + shift)], 7.0F);
      const std::vector<float> got(y_at.begin() + shift, y_at.begin() + shift + count);
      const double squares = sum_of_squares(x_at.data() + shift, count);
      if (shift == 0) {
        first = got;
        first_squares = squares;
      }
      EXPECT_EQ(got, first);
      EXPECT_EQ(squares, first_squares);
      for (Index i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_EQ(got[at], x.values[at] + y.values[at]);
      }
    }
  }
}

TEST(Vector, SumOfSquaresIsTakenInDouble) {
  std::vector<float> x(1 << 16, 1e-4F);
  x[0] = 1;  // in float every other one would vanish beside its square
  const double small = static_cast<double>(1e-4F) * static_cast<double>(1e-4F) * 65535;
  EXPECT_NEAR(sum_of_squares(x.data(), static_cast<Index>(x.size())), 1 + small, 1e-11);
}

TEST(Vector, ColumnSlicesAndShapes) {
  auto wide = random_tensor<double>({3, 9}, 1);
  const auto before = wide;
  const auto x = random_tensor<double>({3, 4}, 2);
  add<double>(x.matrix(), wide.matrix().col_block(2, 4));
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 9; ++j) {
      const double added = j >= 2 && j < 6 ? x.matrix()(i, j - 2) : 0;
      EXPECT_EQ(wide.matrix()(i, j), before.matrix()(i, j) + added);
    }
  }
  EXPECT_THROW(add<double>(x.matrix(), wide.matrix()), ShapeError);
  EXPECT_THROW(sum<double>(x.matrix(), x.matrix(), wide.matrix()), ShapeError);
}

}  // namespace
}  // namespace attn
