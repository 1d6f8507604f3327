#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/index.h"

namespace attn {

/// The number types that tensors are stored in.
enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool };

/// The name it is printed under: f32, bf16, i64, bool ...
std::string_view dtype_name(DType type);

/// By any of its usual names (f32 = fp32 = float32 = float, f16 = fp16 = float16 = half,
/// bf16 = bfloat16, f64 = fp64 = float64 = double, i64 = int64, ...); nothing for another word.
std::optional<DType> parse_dtype(std::string_view name);

/// Bytes of one number.
Index dtype_bytes(DType type);

/// True for the types that hold fractions.
bool is_floating(DType type);

/// IEEE 754 binary16 and bfloat16, to and from float; rounding is to nearest, ties to even.
float f16_to_float(std::uint16_t bits);
std::uint16_t float_to_f16(float value);
float bf16_to_float(std::uint16_t bits);
std::uint16_t float_to_bf16(float value);

/// The nearest number with 10 bits after the point and the range of float: what tensor cores make
/// of a float (TF32).
double tf32_rounded(double value);

}  // namespace attn
