#include "nn/kv_type.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/dtype.h"
#include "core/error.h"
#include "core/rng.h"

namespace attn {
namespace {

std::vector<float> noise(Index count) {
  Rng rng(5, RandomPurpose::kExample);
  std::vector<float> all(static_cast<std::size_t>(count));
  for (float& value : all) value = static_cast<float>(rng.normal());
  return all;
}

std::vector<float> there_and_back(KvType type, const std::vector<float>& row) {
  const auto width = static_cast<Index>(row.size());
  std::vector<std::byte> bytes(static_cast<std::size_t>(kv_row_bytes<float>(type, 1, width)));
  kv_encode<float>(type, row.data(), width, bytes.data());
  std::vector<float> back(row.size());
  kv_decode<float>(type, bytes.data(), width, back.data());
  return back;
}

float largest(const float* row, Index count) {
  float most = 0;
  for (Index i = 0; i < count; ++i) most = std::max(most, std::abs(row[i]));
  return most;
}

TEST(KvType, NamesAreReadBack) {
  for (const KvType type : kv_types()) EXPECT_EQ(parse_kv_type(kv_type_name(type)), type);
  EXPECT_EQ(parse_kv_type("q5_0"), std::nullopt);
}

TEST(KvType, BytesOfARow) {
  EXPECT_EQ(kv_row_bytes<float>(KvType::kNative, 2, 64), 512);
  EXPECT_EQ(kv_row_bytes<double>(KvType::kNative, 2, 64), 1024);
  EXPECT_EQ(kv_row_bytes<float>(KvType::kBF16, 2, 64), 256);
  EXPECT_EQ(kv_row_bytes<float>(KvType::kQ8_0, 2, 64), 4 * 34);
  EXPECT_EQ(kv_row_bytes<float>(KvType::kQ4_0, 2, 64), 4 * 18);
  EXPECT_EQ(kv_row_bytes<float>(KvType::kF16, 1, 24), 48);
  EXPECT_THROW(kv_row_bytes<float>(KvType::kQ8_0, 4, 24), UsageError);
}

TEST(KvType, HalvesAreTheRoundedNumbers) {
  const std::vector<float> row = noise(50);
  const auto f16 = there_and_back(KvType::kF16, row);
  const auto bf16 = there_and_back(KvType::kBF16, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(f16[i], f16_to_float(float_to_f16(row[i])));
    EXPECT_EQ(bf16[i], bf16_to_float(float_to_bf16(row[i])));
  }
  EXPECT_EQ(there_and_back(KvType::kNative, row), row);
}

// A number is within half a step of what it was, and the factor within its own rounding.
TEST(KvType, BlocksAreWithinTheirStep) {
  const std::vector<float> row = noise(32 * 40);
  const auto q8 = there_and_back(KvType::kQ8_0, row);
  const auto q4 = there_and_back(KvType::kQ4_0, row);
  for (std::size_t first = 0; first < row.size(); first += 32) {
    const float most = largest(row.data() + first, 32);
    for (std::size_t i = first; i < first + 32; ++i) {
      EXPECT_NEAR(q8[i], row[i], most / 127 * (0.5F + 127 * 0x1p-11F));
      // Of the side opposite to the largest number, -8 .. 7 has no eighth step.
      EXPECT_NEAR(q4[i], row[i], most / 8 * (1.0F + 8 * 0x1p-11F));
    }
  }
}

// 8 * 2^-3 and its like are whole numbers of steps: nothing is lost.
TEST(KvType, WholeStepsAreExact) {
  std::vector<float> row(64);
  for (std::size_t i = 0; i < 32; ++i) row[i] = static_cast<float>(static_cast<int>(i % 16) - 8);
  for (std::size_t i = 32; i < 64; ++i) row[i] = 0;
  EXPECT_EQ(there_and_back(KvType::kQ4_0, row), row);
  for (std::size_t i = 0; i < 32; ++i) row[i] = static_cast<float>(static_cast<int>(4 * i) - 127);
  EXPECT_EQ(there_and_back(KvType::kQ8_0, row), row);
}

// A kernel's NaN is not made into a number on its way through the cache.
TEST(KvType, ABlockWithANumberThatIsNotFiniteIsNaN) {
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    std::vector<float> row(64, 1.0F);
    row[5] = bad;
    for (const KvType type : {KvType::kQ8_0, KvType::kQ4_0}) {
      const auto back = there_and_back(type, row);
      for (std::size_t i = 0; i < 32; ++i) EXPECT_TRUE(std::isnan(back[i])) << i;
      EXPECT_NEAR(back[32], 1, 1e-3) << "the next block is another";
    }
  }
}

// The step of a block this small has no inverse in single precision, and is 0 in half precision.
TEST(KvType, NumbersBelowHalfPrecisionAreZero) {
  const std::vector<float> row(32, 1e-39F);
  for (const KvType type : {KvType::kQ8_0, KvType::kQ4_0}) {
    EXPECT_EQ(there_and_back(type, row), std::vector<float>(32, 0.0F));
  }
}

// Bytes as llama.cpp has them: a half, then the numbers; of q4_0 i and i + 16 share one.
TEST(KvType, BlocksLieAsTheirTypeSays) {
  std::vector<float> row(32, 0.0F);
  row[0] = -8;
  row[1] = 3;
  row[16] = 7;
  row[17] = -1;
  std::vector<std::uint8_t> bytes(18);
  kv_encode<float>(KvType::kQ4_0, row.data(), 32, reinterpret_cast<std::byte*>(bytes.data()));
  std::uint16_t factor = 0;
  std::memcpy(&factor, bytes.data(), 2);
  EXPECT_EQ(f16_to_float(factor), 1);
  EXPECT_EQ(bytes[2], 0 | 15 << 4);
  EXPECT_EQ(bytes[3], 11 | 7 << 4);
  EXPECT_EQ(bytes[4], 8 | 8 << 4);
}

}  // namespace
}  // namespace attn
