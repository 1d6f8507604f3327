#pragma once

#include <cstddef>

#include "core/index.h"

namespace attn {

// Numbers of fewer bits become floats: exactly, whatever the vector target.

/// `count` numbers of half precision (binary16), as they lie in memory.
void unpack_f16(const std::byte* bytes, Index count, float* x);
/// The same of bfloat16.
void unpack_bf16(const std::byte* bytes, Index count, float* x);
/// Blocks of 32 numbers, count a multiple: a factor (binary16), then 32 whole numbers of 8 bits.
void unpack_q8_0(const std::byte* bytes, Index count, float* x);
/// Blocks of 32: a factor, then 16 bytes that hold numbers i (low half) and i + 16, each 8 too
/// many.
void unpack_q4_0(const std::byte* bytes, Index count, float* x);

}  // namespace attn
