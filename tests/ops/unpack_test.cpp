#include "ops/unpack.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/dtype.h"

namespace attn {
namespace {

// Runs a check on every vector target this processor has, the scalar one among them.
template <class Check>
void on_all_targets(const Check& check) {
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(target));
    check();
    hwy::SetSupportedTargetsForTest(0);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

using Unpack = void (*)(const std::byte*, Index, float*);

// Every number of 16 bits, and three more so that a vector is left over.
void expect_halves(Unpack unpack, float (*expected)(std::uint16_t)) {
  std::vector<std::uint16_t> halves(65536 + 3);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  std::vector<float> x(halves.size());
  on_all_targets([&] {
    unpack(reinterpret_cast<const std::byte*>(halves.data()), static_cast<Index>(x.size()),
           x.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float want = expected(halves[i]);
      ASSERT_TRUE(std::isnan(want) ? std::isnan(x[i]) : x[i] == want) << i;
    }
  });
}

TEST(Unpack, EveryHalfIsExact) {
  expect_halves(unpack_f16, f16_to_float);
}

TEST(Unpack, EveryBfloat16IsExact) {
  expect_halves(unpack_bf16, bf16_to_float);
}

// Two blocks: factors 0.5 and -2.
std::vector<std::byte> blocks(const std::vector<std::uint8_t>& numbers) {
  std::vector<std::byte> bytes;
  for (const float factor : {0.5F, -2.0F}) {
    const std::uint16_t half = float_to_f16(factor);
    bytes.push_back(static_cast<std::byte>(half & 255));
    bytes.push_back(static_cast<std::byte>(half >> 8));
    for (const std::uint8_t number : numbers) bytes.push_back(static_cast<std::byte>(number));
  }
  return bytes;
}

TEST(Unpack, EightBitsTimesTheFactor) {
  std::vector<std::uint8_t> numbers(32);
  for (std::size_t i = 0; i < 32; ++i) numbers[i] = static_cast<std::uint8_t>(8 * i);  // to -8
  const auto bytes = blocks(numbers);
  std::vector<float> x(64);
  on_all_targets([&] {
    unpack_q8_0(bytes.data(), 64, x.data());
    for (std::size_t i = 0; i < 32; ++i) {
      const float number = i < 16 ? 8 * static_cast<float>(i) : 8 * static_cast<float>(i) - 256;
      EXPECT_EQ(x[i], 0.5F * number) << i;
      EXPECT_EQ(x[32 + i], -2 * number) << i;
    }
  });
}

TEST(Unpack, FourBitsLessEightTimesTheFactor) {
  std::vector<std::uint8_t> numbers(16);
  for (std::size_t i = 0; i < 16; ++i) {
    numbers[i] = static_cast<std::uint8_t>(i | (15 - i) << 4);  // i in front, 15 - i behind
  }
  const auto bytes = blocks(numbers);
  std::vector<float> x(64);
  on_all_targets([&] {
    unpack_q4_0(bytes.data(), 64, x.data());
    for (std::size_t i = 0; i < 16; ++i) {
      const auto front = static_cast<float>(i) - 8;
      const auto behind = 7 - static_cast<float>(i);
      EXPECT_EQ(x[i], 0.5F * front) << i;
      EXPECT_EQ(x[16 + i], 0.5F * behind) << i;
      EXPECT_EQ(x[48 + i], -2 * behind) << i;
    }
  });
}

}  // namespace
}  // namespace attn
