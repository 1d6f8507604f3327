#include "core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attn {
namespace {

TEST(DType, NamesAndAliases) {
  EXPECT_EQ(parse_dtype("half"), DType::kF16);
  EXPECT_EQ(parse_dtype("float16"), DType::kF16);
  EXPECT_EQ(parse_dtype("bfloat16"), DType::kBF16);
  EXPECT_EQ(parse_dtype("float"), DType::kF32);
  EXPECT_EQ(parse_dtype("int64"), DType::kI64);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(parse_dtype("f31"), std::nullopt);
  EXPECT_EQ(dtype_name(DType::kBool), "bool");
  EXPECT_EQ(dtype_bytes(DType::kBF16), 2);
}

TEST(DType, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_to_float(float_to_f16(value))));
    } else {
      ASSERT_EQ(float_to_f16(value), half) << bits;
    }
  }
}

TEST(DType, HalfRoundsToNearestTiesToEven) {
  EXPECT_EQ(f16_to_float(float_to_f16(65504.0F)), 65504.0F);
  EXPECT_EQ(f16_to_float(float_to_f16(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(f16_to_float(float_to_f16(65520.0F))));
  EXPECT_EQ(f16_to_float(float_to_f16(2049.0F)), 2048.0F);
  EXPECT_EQ(f16_to_float(float_to_f16(2051.0F)), 2052.0F);
  EXPECT_EQ(f16_to_float(float_to_f16(0x1p-25F)), 0.0F);
  EXPECT_EQ(f16_to_float(float_to_f16(0x1.8p-25F)), 0x1p-24F);
  EXPECT_EQ(f16_to_float(float_to_f16(-1.0F / 3.0F)), -0.333251953125F);
}

TEST(DType, Bfloat16RoundsToNearestTiesToEven) {
  EXPECT_EQ(bf16_to_float(float_to_bf16(256.0F)), 256.0F);
  EXPECT_EQ(bf16_to_float(float_to_bf16(257.0F)), 256.0F);
  EXPECT_EQ(bf16_to_float(float_to_bf16(259.0F)), 260.0F);
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::nanf("")))));
  EXPECT_TRUE(std::isinf(bf16_to_float(float_to_bf16(std::numeric_limits<float>::max()))));
}

}  // namespace
}  // namespace attn
