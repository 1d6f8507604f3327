#include "core/dtype.h"

#include <array>
#include <bit>
#include <cmath>

namespace attn {
namespace {

struct Row {
  DType type;
  Index bytes;
  std::array<std::string_view, 5> names;  // the first is printed
};

constexpr std::array<Row, 13> kTable = {{
    {DType::kF64, 8, {"f64", "fp64", "float64", "double", ""}},
    {DType::kF32, 4, {"f32", "fp32", "float32", "float", "single"}},
    {DType::kF16, 2, {"f16", "fp16", "float16", "half", ""}},
    {DType::kBF16, 2, {"bf16", "bfloat16", "", "", ""}},
    {DType::kI64, 8, {"i64", "int64", "", "", ""}},
    {DType::kI32, 4, {"i32", "int32", "", "", ""}},
    {DType::kI16, 2, {"i16", "int16", "", "", ""}},
    {DType::kI8, 1, {"i8", "int8", "", "", ""}},
    {DType::kU64, 8, {"u64", "uint64", "", "", ""}},
    {DType::kU32, 4, {"u32", "uint32", "", "", ""}},
    {DType::kU16, 2, {"u16", "uint16", "", "", ""}},
    {DType::kU8, 1, {"u8", "uint8", "", "", ""}},
    {DType::kBool, 1, {"bool", "", "", "", ""}},
}};

const Row& row_of(DType type) {
  return kTable[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view dtype_name(DType type) {
  return row_of(type).names[0];
}

std::optional<DType> parse_dtype(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const Row& row : kTable) {
    for (std::string_view known : row.names) {
      if (name == known) return row.type;
    }
  }
  return std::nullopt;
}

Index dtype_bytes(DType type) {
  return row_of(type).bytes;
}

bool is_floating(DType type) {
  return type == DType::kF64 || type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U);
  // 65520 is the first number that rounds past the largest half, 65504.
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude < 0x38800000U) {
    // Subnormal or zero: a multiple of 2^-24, rounded by the addition.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

double tf32_rounded(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if ((bits & 0x7fffffffU) >= 0x7f800000U) return value;
  return std::bit_cast<float>((bits + 0xfffU + ((bits >> 13) & 1U)) & 0xffffe000U);
}

}  // namespace attn
