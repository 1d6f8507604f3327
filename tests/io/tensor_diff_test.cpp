#include "io/tensor_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/computation_order.h"
#include "io/npy.h"
#include "io/tensor_set.h"

namespace attn {
namespace {

using ::testing::ElementsAre;

TensorFile file_of(const Tensor<double>& tensor, DType type) {
  TensorSet set;
  set.put("array", tensor, type);
  Hdf5Writer writer;
  set.write(writer);
  const Hdf5Image image = writer.finish();
  const auto bytes = image.bytes();
  return TensorFile::from_bytes({bytes.begin(), bytes.end()}, "x");
}

TensorDifference difference(std::vector<double> a, std::vector<double> b,
                            const DiffSettings& settings = {}, DType type = DType::kF32) {
  const auto count = static_cast<Index>(a.size());
  return tensor_difference(file_of({{count}, std::move(a)}, type), "/array",
                           file_of({{count}, std::move(b)}, type), "/array", settings);
}

// By hand: errors 0, 0.5 and 1; sum of a^2 = 1 + 4 + 4.
TEST(TensorDiff, MeasuresAreThoseOfTheirFormulas) {
  const TensorDifference d = difference({1, 2, -2}, {1, 2.5, -3});
  EXPECT_EQ(d.count, 3);
  EXPECT_EQ(d.differing, 2);
  EXPECT_EQ(d.max_abs, 1);
  EXPECT_EQ(d.max_rel, 0.5);
  EXPECT_DOUBLE_EQ(d.nmse, 1.25 / 9);
  EXPECT_DOUBLE_EQ(d.cosine, 12 / (3 * std::sqrt(1 + 6.25 + 9)));
  EXPECT_THAT(*d.first, ElementsAre(1));
  EXPECT_THAT(*d.worst, ElementsAre(2));
}

TEST(TensorDiff, StepsAreCountedInTheStoredType) {
  EXPECT_EQ(*difference({1}, {std::nextafter(1.0F, 2.0F)}).max_ulp, 1);
  EXPECT_EQ(*difference({1}, {std::nextafter(1.0, 2.0)}, {}, DType::kF64).max_ulp, 1);
  EXPECT_EQ(*difference({1}, {1 + 1.0 / 128}, {}, DType::kBF16).max_ulp, 1);
  EXPECT_EQ(*difference({1}, {1 + 1.0 / 1024}, {}, DType::kF16).max_ulp, 1);
  // The smallest numbers on both sides of 0 are two steps apart.
  const double tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(*difference({-tiny}, {tiny}).max_ulp, 2);
  EXPECT_FALSE(difference({1}, {2}, {}, DType::kI32).max_ulp);
}

TEST(TensorDiff, TolerancesGrowWithTheFirst) {
  EXPECT_EQ(difference({100, 1}, {101, 1.001}, {.rtol = 0.01}).differing, 0);
  EXPECT_EQ(difference({100, 0}, {100, 0.1}, {.rtol = 0.01}).differing, 1);
  EXPECT_EQ(difference({100, 0}, {100, 0.1}, {.atol = 0.2}).differing, 0);
}

TEST(TensorDiff, WhatIsNotFiniteEqualsItselfOnly) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(difference({kInf, kNan}, {kInf, kNan}).nonfinite, 1);
  EXPECT_EQ(difference({kInf, kNan}, {kInf, kNan}, {.nan_equal = true}).differing, 0);
  EXPECT_EQ(difference({kInf, kNan, 1}, {-kInf, 1, kNan}, {.nan_equal = true}).nonfinite, 3);
}

TEST(TensorDiff, OnlyIndicesBeforeTheChangeCount) {
  const Tensor<double> a({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor<double> b({1, 3, 2}, {1, 2, 3, 4, 5, 7});
  const auto differing = [&](Index before, Index axis) {
    DiffSettings settings;
    settings.equal_before = before;
    settings.axis = axis;
    return tensor_difference(file_of(a, DType::kF32), "/array", file_of(b, DType::kF32), "/array",
                             settings)
        .differing;
  };
  EXPECT_EQ(differing(2, -2), 0);
  EXPECT_EQ(differing(3, 1), 1);
  EXPECT_EQ(differing(1, -1), 0);
}

TEST(TensorDiff, LargeIntegersStayExact) {
  TensorFile a = TensorFile::from_bytes(npy_bytes(Tensor<std::int64_t>({1}, {1LL << 60})), "a");
  TensorFile b =
      TensorFile::from_bytes(npy_bytes(Tensor<std::int64_t>({1}, {(1LL << 60) + 1})), "b");
  EXPECT_EQ(tensor_difference(a, "/array", b, "/array", {}).differing, 1);
}

TEST(TensorDiff, LargestIntegersStayExact) {
  constexpr std::uint64_t kLargest = ~std::uint64_t{0};
  TensorFile a = TensorFile::from_bytes(
      npy_bytes(Tensor<std::uint64_t>({2}, {kLargest / 2 + 1, kLargest})), "a");
  TensorFile b = TensorFile::from_bytes(
      npy_bytes(Tensor<std::uint64_t>({2}, {kLargest / 2 + 1, kLargest - 1})), "b");
  const TensorDifference found = tensor_difference(a, "/array", b, "/array", {});
  EXPECT_EQ(found.differing, 1);
  EXPECT_EQ(found.max_abs, 1);
}

TEST(TensorDiff, IntegersWithASignStandExactlyBesideThoseWithout) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  const TensorFile with_sign = TensorFile::from_bytes(
      npy_bytes(Tensor<std::int64_t>({3}, {(1LL << 60) + 1, 1LL << 60, -1})), "a");
  const TensorFile without = TensorFile::from_bytes(
      npy_bytes(Tensor<std::uint64_t>({3}, {1ULL << 60, 1ULL << 60, 2 * (kHalf - 1) + 1})), "b");
  for (const bool turned : {false, true}) {
    const TensorFile& a = turned ? without : with_sign;
    const TensorFile& b = turned ? with_sign : without;
    const TensorDifference found = tensor_difference(a, "/array", b, "/array", {.any_type = true});
    EXPECT_EQ(found.differing, 2);  // the first by 1, which no double tells; -1 is not 2^64 - 1
    EXPECT_THAT(*found.first, ElementsAre(0));
    EXPECT_EQ(found.max_abs, 0x1p64);
  }
}

TEST(TensorDiff, AMapKeepsFiniteDistancesFinite) {
  DifferenceMap map;
  const TensorFile a = file_of({{3}, {1e300, 1e-60, HUGE_VAL}}, DType::kF64);
  const TensorFile b = file_of({{3}, {0, 0, 0}}, DType::kF64);
  tensor_difference(a, "/array", b, "/array", {}, &map);
  EXPECT_TRUE(std::isfinite(map.distance[0]));
  EXPECT_GT(map.distance[1], 0);
  EXPECT_TRUE(std::isinf(map.distance[2]));
}

TEST(ComputationOrder, FollowsAModel) {
  std::vector<std::string> names = {"/head.weight",          "/blocks.10.norm1.weight",
                                    "/blocks.2.mlp.fc1",     "/blocks.2.attn.v_proj",
                                    "/blocks.2.attn.q_proj", "/blocks.2.norm1.weight",
                                    "/tokens.weight",        "/norm.weight"};
  sort_by_computation(names);
  EXPECT_THAT(names,
              ElementsAre("/tokens.weight", "/blocks.2.norm1.weight", "/blocks.2.attn.q_proj",
                          "/blocks.2.attn.v_proj", "/blocks.2.mlp.fc1", "/blocks.10.norm1.weight",
                          "/norm.weight", "/head.weight"));
  names = {"/out", "/weights", "/k", "/scores", "/v", "/q"};
  sort_by_computation(names);
  EXPECT_THAT(names, ElementsAre("/q", "/k", "/v", "/scores", "/weights", "/out"));
}

}  // namespace
}  // namespace attn
