#include "io/number_bytes.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace attn {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as memory has them");

using Bytes = std::optional<std::vector<std::byte>>;

template <class Stored, class T, class Convert>
Bytes each(std::span<const T> values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::optional<Stored> stored = convert(values[i]);
    if (!stored) return std::nullopt;
    std::memcpy(bytes.data() + i * sizeof(Stored), &*stored, sizeof(Stored));
  }
  return bytes;
}

template <class Stored, class T>
Bytes whole(std::span<const T> values) {
  return each<Stored>(values, [](T value) -> std::optional<Stored> {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<Stored>(value)) return std::nullopt;
      return static_cast<Stored>(value);
    } else {
      // Powers of two, which a double holds exactly.
      constexpr int kBits = std::numeric_limits<Stored>::digits;
      const double end = std::ldexp(1.0, kBits);
      const double least = std::is_signed_v<Stored> ? -end : 0.0;
      if (!(value >= least && value < end) || value != std::trunc(value)) return std::nullopt;
      return static_cast<Stored>(value);
    }
  });
}

}  // namespace

template <class T>
std::optional<std::vector<std::byte>> number_bytes(std::span<const T> values, DType type) {
  switch (type) {
    case DType::kF64:
      return each<double>(values, [](T v) { return std::optional(static_cast<double>(v)); });
    case DType::kF32:
      return each<float>(values, [](T v) { return std::optional(static_cast<float>(v)); });
    case DType::kF16:
      return each<std::uint16_t>(
          values, [](T v) { return std::optional(float_to_f16(static_cast<float>(v))); });
    case DType::kBF16:
      return each<std::uint16_t>(
          values, [](T v) { return std::optional(float_to_bf16(static_cast<float>(v))); });
    case DType::kI64:
      return whole<std::int64_t>(values);
    case DType::kI32:
      return whole<std::int32_t>(values);
    case DType::kI16:
      return whole<std::int16_t>(values);
    case DType::kI8:
      return whole<std::int8_t>(values);
    case DType::kU64:
      return whole<std::uint64_t>(values);
    case DType::kU32:
      return whole<std::uint32_t>(values);
    case DType::kU16:
      return whole<std::uint16_t>(values);
    case DType::kU8:
      return whole<std::uint8_t>(values);
    case DType::kBool:
      return each<std::uint8_t>(values, [](T v) -> std::optional<std::uint8_t> {
        if (v != 0 && v != 1) return std::nullopt;
        return static_cast<std::uint8_t>(v);
      });
  }
  return std::nullopt;
}

template std::optional<std::vector<std::byte>> number_bytes(std::span<const double>, DType);
template std::optional<std::vector<std::byte>> number_bytes(std::span<const std::int64_t>, DType);

}  // namespace attn
