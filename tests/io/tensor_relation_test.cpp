#include "io/tensor_relation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace attn {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Tensor<double> kNumbers({2, 3, 4}, {0.3, -1.2, 2.5,  0.7,  -0.4, 1.9, -3.3, 0.6,
                                          1.1, -0.8, 0.25, -2.1, 4.4,  0.9, -1.7, 2.2,
                                          3.1, -0.1, 0.45, 1.6,  -2.8, 0.5, 1.3,  -0.95});

Tensor<double> changed(const std::function<double(double)>& change) {
  Tensor<double> made = kNumbers;
  for (double& value : made.values) value = change(value);
  return made;
}

std::vector<std::string> relations(const Tensor<double>& b) {
  return tensor_relations(kNumbers, DType::kF32, b, DType::kF32);
}

TEST(TensorRelation, FactorsAndShifts) {
  EXPECT_THAT(relations(changed([](double x) { return -2.5 * x; })), ElementsAre("B = -2.5 * A"));
  EXPECT_THAT(relations(changed([](double x) { return x - 0.5; })), ElementsAre("B = A - 0.5"));
  EXPECT_THAT(relations(changed([](double x) { return x * x; })), IsEmpty());
}

TEST(TensorRelation, Rounding) {
  const auto f16 = [](double x) { return f16_to_float(float_to_f16(static_cast<float>(x))); };
  const auto bf16 = [](double x) { return bf16_to_float(float_to_bf16(static_cast<float>(x))); };
  EXPECT_THAT(relations(changed(f16)), Contains("B is A rounded to f16"));
  EXPECT_THAT(relations(changed(bf16)), Contains("B is A rounded to bf16"));
}

TEST(TensorRelation, EqualNumbersAreNotExplained) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor<double> few({2}, {1, nan});
  EXPECT_THAT(tensor_relations(few, DType::kF32, few, DType::kF32), IsEmpty());
}

TEST(TensorRelation, AShiftBelowRoundingExplainsNothing) {
  const Tensor<double> a({2, 2}, {1e-60, 1, 2, 3});
  const Tensor<double> b({2, 2}, {0, 1, 2, 3});
  EXPECT_THAT(tensor_relations(a, DType::kF64, b, DType::kF64), Not(Contains(HasSubstr("B = A"))));
}

TEST(TensorRelation, AxesInAnotherOrder) {
  Tensor<double> made({4, 2, 3});
  for (Index i = 0; i < 2; ++i) {
    for (Index j = 0; j < 3; ++j) {
      for (Index k = 0; k < 4; ++k) {
        made.values[static_cast<std::size_t>((k * 2 + i) * 3 + j)] =
            kNumbers.values[static_cast<std::size_t>((i * 3 + j) * 4 + k)];
      }
    }
  }
  EXPECT_THAT(relations(made), ElementsAre("B is A with its axes in the order (2, 0, 1)"));
  EXPECT_THAT(relations({{6, 4}, kNumbers.values}),
              ElementsAre("B has the numbers of A in shape (6, 4)"));
}

TEST(TensorRelation, FeaturesPairedInAnotherWay) {
  Tensor<double> halves = kNumbers;
  for (std::size_t row = 0; row < 6; ++row) {
    std::swap(halves.values[row * 4 + 1], halves.values[row * 4 + 2]);
  }
  EXPECT_THAT(relations(halves), Contains("features are paired interleaved in A and as halves in B "
                                          "(axis 2, in groups of 4)"));
}

}  // namespace
}  // namespace attn
