#include "nn/kv_type.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "core/error.h"
#include "ops/unpack.h"

namespace attn {
namespace {

constexpr Index kBlock = 32;

struct BlockQ8 {
  std::uint16_t factor;  // binary16
  std::array<std::int8_t, 32> numbers;
};
// Numbers i and i + 16 share a byte, the first in its low half.
struct BlockQ4 {
  std::uint16_t factor;
  std::array<std::uint8_t, 16> numbers;
};
static_assert(sizeof(BlockQ8) == 34 && sizeof(BlockQ4) == 18);

// The number of largest magnitude, with its sign; NaN where one is not finite, which as a factor
// makes the whole block NaN: whole numbers have no place for it.
float largest_of(const float* x) {
  float largest = 0;
  for (Index i = 0; i < kBlock; ++i) {
    if (!std::isfinite(x[i])) return std::numeric_limits<float>::quiet_NaN();
    if (std::abs(x[i]) > std::abs(largest)) largest = x[i];
  }
  return largest;
}

// 0 where there is none: of 0, of NaN, and of what is so small that half precision makes it 0.
float inverse_of(float factor) {
  const float inverse = 1 / factor;
  return std::isfinite(inverse) ? inverse : 0;
}

// Never a NaN or an infinity, which no cast to a whole number may see.
float in_steps(float x, float inverse) {
  return inverse == 0 ? 0 : x * inverse;
}

BlockQ8 pack_q8(const float* x) {
  const float factor = std::abs(largest_of(x)) / 127;
  const float inverse = inverse_of(factor);
  BlockQ8 block{float_to_f16(factor), {}};
  for (std::size_t i = 0; i < block.numbers.size(); ++i) {
    block.numbers[i] = static_cast<std::int8_t>(std::round(in_steps(x[i], inverse)));
  }
  return block;
}

std::uint8_t four_bits(float x) {
  return static_cast<std::uint8_t>(std::clamp(static_cast<int>(x + 8.5F), 0, 15));
}

BlockQ4 pack_q4(const float* x) {
  const float factor = largest_of(x) / -8;
  const float inverse = inverse_of(factor);
  BlockQ4 block{float_to_f16(factor), {}};
  for (std::size_t i = 0; i < block.numbers.size(); ++i) {
    const unsigned low = four_bits(in_steps(x[i], inverse));
    const unsigned high = four_bits(in_steps(x[i + 16], inverse));
    block.numbers[i] = static_cast<std::uint8_t>(low | high << 4);
  }
  return block;
}

template <class Packed, class T, class Pack>
void encode_blocks(const T* row, Index width, std::byte* bytes, const Pack& pack) {
  std::array<float, kBlock> x;
  for (Index first = 0; first < width; first += kBlock) {
    std::transform(row + first, row + first + kBlock, x.begin(),
                   [](T value) { return static_cast<float>(value); });
    const Packed packed = pack(x.data());
    std::memcpy(bytes, &packed, sizeof packed);
    bytes += sizeof packed;
  }
}

template <class T, class Pack>
void encode_halves(const T* row, Index width, std::byte* bytes, const Pack& pack) {
  for (Index i = 0; i < width; ++i) {
    const std::uint16_t half = pack(static_cast<float>(row[i]));
    std::memcpy(bytes + 2 * i, &half, sizeof half);
  }
}

// block_bytes: of 32 numbers.
template <class T, class Unpack>
void decode(const std::byte* bytes, Index width, Index block_bytes, T* row, const Unpack& unpack) {
  if constexpr (std::is_same_v<T, float>) {
    unpack(bytes, width, row);
  } else {
    std::array<float, kBlock> x;
    for (Index first = 0; first < width; first += kBlock, bytes += block_bytes) {
      const Index count = std::min(kBlock, width - first);
      unpack(bytes, count, x.data());
      std::copy_n(x.begin(), count, row + first);
    }
  }
}

}  // namespace

const std::vector<KvType>& kv_types() {
  static const std::vector<KvType> all = {KvType::kNative, KvType::kF16, KvType::kBF16,
                                          KvType::kQ8_0, KvType::kQ4_0};
  return all;
}

std::string kv_type_name(KvType type) {
  switch (type) {
    case KvType::kNative:
      return "f32";
    case KvType::kF16:
      return "f16";
    case KvType::kBF16:
      return "bf16";
    case KvType::kQ8_0:
      return "q8_0";
    case KvType::kQ4_0:
      return "q4_0";
  }
  throw ShapeError("cache: no such type");
}

std::optional<KvType> parse_kv_type(std::string_view name) {
  for (const KvType type : kv_types()) {
    if (name == kv_type_name(type)) return type;
  }
  return std::nullopt;
}

template <class T>
Index kv_row_bytes(KvType type, Index kv_heads, Index head_dim) {
  const bool blocks = type == KvType::kQ8_0 || type == KvType::kQ4_0;
  if (blocks && head_dim % kBlock != 0) {
    throw UsageError(
        fmt::format("{} stores blocks of {} numbers of one head: a head_dim of {} is "
                    "no multiple of it",
                    kv_type_name(type), kBlock, head_dim));
  }
  const Index width = kv_heads * head_dim;
  switch (type) {
    case KvType::kNative:
      return width * static_cast<Index>(sizeof(T));
    case KvType::kF16:
    case KvType::kBF16:
      return 2 * width;
    case KvType::kQ8_0:
      return width / kBlock * static_cast<Index>(sizeof(BlockQ8));
    case KvType::kQ4_0:
      return width / kBlock * static_cast<Index>(sizeof(BlockQ4));
  }
  throw ShapeError("cache: no such type");
}

template <class T>
void kv_encode(KvType type, const T* row, Index width, std::byte* bytes) {
  switch (type) {
    case KvType::kNative:
      std::memcpy(bytes, row, static_cast<std::size_t>(width) * sizeof(T));
      return;
    case KvType::kF16:
      encode_halves(row, width, bytes, float_to_f16);
      return;
    case KvType::kBF16:
      encode_halves(row, width, bytes, float_to_bf16);
      return;
    case KvType::kQ8_0:
      encode_blocks<BlockQ8>(row, width, bytes, pack_q8);
      return;
    case KvType::kQ4_0:
      encode_blocks<BlockQ4>(row, width, bytes, pack_q4);
      return;
  }
}

template <class T>
void kv_decode(KvType type, const std::byte* bytes, Index width, T* row) {
  switch (type) {
    case KvType::kNative:
      std::memcpy(row, bytes, static_cast<std::size_t>(width) * sizeof(T));
      return;
    case KvType::kF16:
      decode(bytes, width, 2 * kBlock, row, unpack_f16);
      return;
    case KvType::kBF16:
      decode(bytes, width, 2 * kBlock, row, unpack_bf16);
      return;
    case KvType::kQ8_0:
      decode(bytes, width, Index{sizeof(BlockQ8)}, row, unpack_q8_0);
      return;
    case KvType::kQ4_0:
      decode(bytes, width, Index{sizeof(BlockQ4)}, row, unpack_q4_0);
      return;
  }
}

template Index kv_row_bytes<float>(KvType, Index, Index);
template Index kv_row_bytes<double>(KvType, Index, Index);
template void kv_encode<float>(KvType, const float*, Index, std::byte*);
template void kv_encode<double>(KvType, const double*, Index, std::byte*);
template void kv_decode<float>(KvType, const std::byte*, Index, float*);
template void kv_decode<double>(KvType, const std::byte*, Index, double*);

}  // namespace attn
