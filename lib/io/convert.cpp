#include "io/convert.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/dtype.h"

namespace attn {
namespace {

template <class Bits>
Bits swapped(Bits bits) {
  if constexpr (sizeof(Bits) == 1) return bits;
  if constexpr (sizeof(Bits) == 2) return __builtin_bswap16(bits);
  if constexpr (sizeof(Bits) == 4) return __builtin_bswap32(bits);
  if constexpr (sizeof(Bits) == 8) return __builtin_bswap64(bits);
}

// True and `to` set if value fits T.
template <class T, class S>
bool put(S value, T& to) {
  if constexpr (std::is_floating_point_v<T>) {
    to = static_cast<T>(value);
    return true;
  } else if constexpr (std::is_integral_v<S>) {
    if (!std::in_range<T>(value)) return false;
    to = static_cast<T>(value);  // NOLINT(bugprone-signed-char-misuse): int8 is a number here
    return true;
  } else {
    // The limits of T as powers of two, which a float holds exactly; the comparison is false for
    // NaN.
    const double wide = static_cast<double>(value);
    const double below =
        std::ldexp(1.0, static_cast<int>(sizeof(T) * 8) - (std::is_signed_v<T> ? 1 : 0));
    const double least = std::is_signed_v<T> ? -below : 0.0;
    if (!(wide >= least && wide < below) || wide != std::trunc(wide)) return false;
    to = static_cast<T>(wide);
    return true;
  }
}

// S is the number's type, Bits its unsigned image; decode turns one into the other.
template <class Bits, class T, class Decode>
Index run(bool big_endian, const std::byte* from, Index count, T* to, Decode decode) {
  for (Index i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, from + static_cast<std::size_t>(i) * sizeof(Bits), sizeof(Bits));
    if (big_endian) bits = swapped(bits);
    if (!put(decode(bits), to[i])) return i;
  }
  return count;
}

template <class S, class Bits, class T>
Index run_as(const StoredType& stored, const std::byte* from, Index count, T* to) {
  if constexpr (std::is_same_v<S, T>) {
    if (!stored.big_endian) {
      if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
      return count;
    }
  }
  return run<Bits>(stored.big_endian, from, count, to,
                   [](Bits bits) { return std::bit_cast<S>(bits); });
}

// Numbers that are none of the usual types: fields at any place in up to 128 bits.
using Wide = unsigned __int128;

Wide field(Wide bits, std::size_t at, std::size_t width) {
  const Wide mask = width >= 128 ? ~Wide{0} : (Wide{1} << width) - 1;
  return (bits >> at) & mask;
}

double unusual_float(const StoredType& s, Wide bits) {
  const bool negative = field(bits, s.sign_at, 1) != 0;
  const auto exponent = static_cast<long>(field(bits, s.exponent_at, s.exponent_bits));
  const Wide mantissa = field(bits, s.mantissa_at, s.mantissa_bits);
  const long largest = (1L << s.exponent_bits) - 1;
  const auto width = static_cast<long>(s.mantissa_bits);
  double magnitude = 0;
  if (exponent == largest) {
    // The explicit leading bit of an 80-bit float is set in its infinity.
    const Wide fraction =
        s.leading_bit_implied ? mantissa : field(mantissa, 0, s.mantissa_bits - 1);
    magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
  } else {
    const bool implied = s.leading_bit_implied;
    const long leading = implied ? width : width - 1;  // bits behind the point
    double significand = static_cast<double>(mantissa);
    if (implied && exponent != 0) significand += std::ldexp(1.0, static_cast<int>(width));
    const long power = (exponent == 0 ? 1 : exponent) - static_cast<long>(s.exponent_bias);
    magnitude = std::ldexp(significand, static_cast<int>(power - leading));
  }
  return negative ? -magnitude : magnitude;
}

template <class T>
Index run_unusual(const StoredType& s, const std::byte* from, Index count, T* to) {
  for (Index i = 0; i < count; ++i) {
    Wide bits = 0;
    const std::byte* at = from + static_cast<std::size_t>(i) * s.size;
    for (std::size_t b = 0; b < s.size; ++b) {
      const std::size_t from_top = s.big_endian ? b : s.size - 1 - b;
      bits = (bits << 8) | static_cast<unsigned char>(at[from_top]);
    }
    bool fits = false;
    if (s.kind == StoredType::Kind::kFloat) {
      fits = put(unusual_float(s, bits), to[i]);
    } else {
      auto value = static_cast<std::uint64_t>(field(bits, s.offset, s.precision));
      if (s.kind == StoredType::Kind::kUnsigned) {
        fits = put(value, to[i]);
      } else {
        // Sign extension by shifting the sign up to bit 63 and back.
        const std::size_t shift = 64 - s.precision;
        fits = put(static_cast<std::int64_t>(value << shift) >> shift, to[i]);
      }
    }
    if (!fits) return i;
  }
  return count;
}

}  // namespace

template <class T>
Index convert(const StoredType& stored, const std::byte* from, Index count, T* to) {
  if (!stored.standard) return run_unusual(stored, from, count, to);
  switch (stored.type) {
    case DType::kF64:
      return run_as<double, std::uint64_t>(stored, from, count, to);
    case DType::kF32:
      return run_as<float, std::uint32_t>(stored, from, count, to);
    case DType::kF16:
      return run<std::uint16_t>(stored.big_endian, from, count, to, f16_to_float);
    case DType::kBF16:
      return run<std::uint16_t>(stored.big_endian, from, count, to, bf16_to_float);
    case DType::kI64:
      return run_as<std::int64_t, std::uint64_t>(stored, from, count, to);
    case DType::kI32:
      return run_as<std::int32_t, std::uint32_t>(stored, from, count, to);
    case DType::kI16:
      return run_as<std::int16_t, std::uint16_t>(stored, from, count, to);
    case DType::kI8:
      return run_as<std::int8_t, std::uint8_t>(stored, from, count, to);
    case DType::kU64:
      return run_as<std::uint64_t, std::uint64_t>(stored, from, count, to);
    case DType::kU32:
      return run_as<std::uint32_t, std::uint32_t>(stored, from, count, to);
    case DType::kU16:
      return run_as<std::uint16_t, std::uint16_t>(stored, from, count, to);
    case DType::kU8:
    case DType::kBool:
      return run_as<std::uint8_t, std::uint8_t>(stored, from, count, to);
  }
  return 0;
}

template Index convert(const StoredType&, const std::byte*, Index, float*);
template Index convert(const StoredType&, const std::byte*, Index, double*);
template Index convert(const StoredType&, const std::byte*, Index, std::int64_t*);
template Index convert(const StoredType&, const std::byte*, Index, std::uint64_t*);
template Index convert(const StoredType&, const std::byte*, Index, std::int32_t*);
template Index convert(const StoredType&, const std::byte*, Index, std::uint8_t*);

}  // namespace attn
