#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// How a cached number is stored. The last two are llama.cpp's: blocks of 32 numbers with one
/// half-precision factor; q8_0 keeps round(x / d) with d = largest / 127 in 8 bits, q4_0
/// x / d + 8.5, cut off, with d = (the number of largest magnitude) / -8, in 4 (ggml-quants.c).
enum class KvType { kNative, kF16, kBF16, kQ8_0, kQ4_0 };

/// "f32" (what the model computes in), "f16", "bf16", "q8_0", "q4_0"; nothing for another word.
std::optional<KvType> parse_kv_type(std::string_view name);
std::string kv_type_name(KvType type);
const std::vector<KvType>& kv_types();

/// Bytes of a row of `width` numbers; T is the type of kNative. Blocks of 32 must divide a head:
/// throws UsageError for a head_dim that they do not.
template <class T>
Index kv_row_bytes(KvType type, Index kv_heads, Index head_dim);

/// A row of `width` numbers to and from its bytes.
template <class T>
void kv_encode(KvType type, const T* row, Index width, std::byte* bytes);
template <class T>
void kv_decode(KvType type, const std::byte* bytes, Index width, T* row);

}  // namespace attn
