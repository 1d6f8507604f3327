#include "check/reference/tensor_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/error.h"

namespace attn {
namespace {

using testing::ElementsAre;

Tensor<double> counting(Shape shape) {
  Tensor<double> tensor(std::move(shape));
  std::iota(tensor.values.begin(), tensor.values.end(), 0.0);
  return tensor;
}

// Two rows, one sequence, two heads of two features side by side.
TEST(TensorLayout, HeadsSideBySideBecomeAnAxis) {
  const Tensor<double> heads = to_bhsd(counting({2, 1, 4}), TensorLayout::kNbd, 2);
  EXPECT_THAT(heads.shape, ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(heads.values, ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  EXPECT_EQ(to_bhsd(counting({1, 2, 4}), TensorLayout::kBnd, 2).values, heads.values);
  EXPECT_EQ(to_bhsd(counting({2, 4}), TensorLayout::kNbd, 2).values, heads.values);
  EXPECT_EQ(to_bhsd(counting({2, 4}), TensorLayout::kBnd, 2).values, heads.values);
}

TEST(TensorLayout, RowsFirstSwapsTheMiddleAxes) {
  const Tensor<double> swapped = to_bhsd(counting({1, 3, 2, 1}), TensorLayout::kBshd, 1);
  EXPECT_THAT(swapped.shape, ElementsAre(1, 2, 3, 1));
  EXPECT_THAT(swapped.values, ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(TensorLayout, FewerAxesAreOneSequenceAndOneHead) {
  EXPECT_THAT(to_bhsd(counting({3, 2, 4}), TensorLayout::kBhsd, 1).shape, ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(to_bhsd(counting({2, 3, 4}), TensorLayout::kBshd, 1).shape, ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(to_bhsd(counting({2, 4}), TensorLayout::kBshd, 1).shape, ElementsAre(1, 1, 2, 4));
  EXPECT_THAT(to_bhsd(counting({4}), TensorLayout::kBhsd, 1).shape, ElementsAre(1, 1, 1, 4));
}

TEST(TensorLayout, ThereAndBackIsTheSame) {
  const Tensor<double> tensor = counting({2, 3, 4, 5});
  for (const char* name : {"bhsd", "BSHD", "nbd", "bnd"}) {
    const TensorLayout layout = *parse_layout(name);
    const Tensor<double> there = from_bhsd(tensor, layout);
    const Tensor<double> back = to_bhsd(there, layout, 3);
    EXPECT_EQ(back.shape, tensor.shape) << name;
    EXPECT_EQ(back.values, tensor.values) << name;
  }
  EXPECT_FALSE(parse_layout("sbhd"));
}

TEST(TensorLayout, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(to_bhsd(counting({2, 1, 5}), TensorLayout::kNbd, 2), DataError);
  EXPECT_THROW(to_bhsd(counting({1, 2, 1, 4}), TensorLayout::kNbd, 2), DataError);
  EXPECT_THROW(to_bhsd(Tensor<double>({}, {1.0}), TensorLayout::kBhsd, 1), DataError);
}

}  // namespace
}  // namespace attn
