#include "io/stored_type.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace attn {
namespace {

constexpr std::size_t kLargest = 16;

// Nothing for mixed (VAX) order.
std::optional<bool> is_big_endian(hid_t type) {
  switch (H5Tget_order(type)) {
    case H5T_ORDER_LE:
    case H5T_ORDER_NONE:
      return false;
    case H5T_ORDER_BE:
      return true;
    default:
      return std::nullopt;
  }
}

struct FloatLayout {
  DType type;
  std::size_t size, exponent_bits, mantissa_bits, bias;
};
constexpr std::array<FloatLayout, 4> kFloats = {{
    {DType::kF16, 2, 5, 10, 15},
    {DType::kBF16, 2, 8, 7, 127},
    {DType::kF32, 4, 8, 23, 127},
    {DType::kF64, 8, 11, 52, 1023},
}};

std::optional<StoredType> float_type(hid_t type, StoredType stored) {
  stored.kind = StoredType::Kind::kFloat;
  if (H5Tget_fields(type, &stored.sign_at, &stored.exponent_at, &stored.exponent_bits,
                    &stored.mantissa_at, &stored.mantissa_bits) < 0) {
    return std::nullopt;
  }
  stored.exponent_bias = H5Tget_ebias(type);
  stored.leading_bit_implied = H5Tget_norm(type) == H5T_NORM_IMPLIED;
  const std::size_t bits = stored.size * 8;
  const auto inside = [&](std::size_t at, std::size_t width) {
    return at < bits && width <= bits - at;
  };
  // The library checks these when a type is made, not when it comes from a file.
  if (!inside(stored.sign_at, 1) || !inside(stored.exponent_at, stored.exponent_bits) ||
      !inside(stored.mantissa_at, stored.mantissa_bits) || stored.exponent_bits == 0 ||
      stored.exponent_bits > 30 || stored.mantissa_bits == 0 || stored.exponent_bias > (1U << 30)) {
    return std::nullopt;
  }
  stored.type = stored.exponent_bits <= 8 && stored.mantissa_bits <= 23 ? DType::kF32 : DType::kF64;
  for (const FloatLayout& known : kFloats) {
    if (stored.size == known.size && stored.exponent_bits == known.exponent_bits &&
        stored.mantissa_bits == known.mantissa_bits && stored.exponent_bias == known.bias &&
        stored.mantissa_at == 0 && stored.exponent_at == known.mantissa_bits &&
        stored.sign_at == bits - 1 && stored.leading_bit_implied) {
      stored.type = known.type;
      stored.standard = true;
    }
  }
  return stored;
}

std::optional<StoredType> integer_type(hid_t type, StoredType stored) {
  const bool is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
  stored.kind = is_signed ? StoredType::Kind::kSigned : StoredType::Kind::kUnsigned;
  const int offset = H5Tget_offset(type);
  stored.offset = offset < 0 ? 0 : static_cast<std::size_t>(offset);
  stored.precision = H5Tget_precision(type);
  const std::size_t bits = stored.size * 8;
  if (stored.precision == 0 || stored.precision > 64 || stored.offset >= bits ||
      stored.precision > bits - stored.offset) {
    return std::nullopt;
  }
  const std::size_t p = stored.precision;
  const auto pick = [&](DType a, DType b) { return is_signed ? a : b; };
  stored.type = p <= 8    ? pick(DType::kI8, DType::kU8)
                : p <= 16 ? pick(DType::kI16, DType::kU16)
                : p <= 32 ? pick(DType::kI32, DType::kU32)
                          : pick(DType::kI64, DType::kU64);
  stored.standard = p == bits && stored.size == static_cast<std::size_t>(dtype_bytes(stored.type));
  return stored;
}

// h5py's bool: an enum over a one-byte integer with FALSE = 0 and TRUE = 1, in either order.
bool is_bool_enum(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  bool seen[2] = {false, false};
  for (unsigned i = 0; i < 2; ++i) {
    char* raw = H5Tget_member_name(type, i);
    if (raw == nullptr) return false;
    const std::string name = raw;
    H5free_memory(raw);
    std::uint8_t value = 255;
    if (H5Tget_member_value(type, i, &value) < 0 || value > 1) return false;
    if (name != (value == 1 ? "TRUE" : "FALSE")) return false;
    seen[value] = true;
  }
  return seen[0] && seen[1];
}

}  // namespace

std::optional<StoredType> stored_type(hid_t type) {
  StoredType stored;
  stored.size = H5Tget_size(type);
  if (stored.size == 0 || stored.size > kLargest) return std::nullopt;
  const H5T_class_t type_class = H5Tget_class(type);
  if (type_class == H5T_ENUM) {
    if (!is_bool_enum(type)) return std::nullopt;
    stored.kind = StoredType::Kind::kUnsigned;
    stored.type = DType::kBool;
    stored.precision = 8;
    stored.standard = true;
    return stored;
  }
  if (type_class != H5T_FLOAT && type_class != H5T_INTEGER) return std::nullopt;
  const auto order = is_big_endian(type);
  if (!order) return std::nullopt;
  stored.big_endian = *order;
  return type_class == H5T_FLOAT ? float_type(type, stored) : integer_type(type, stored);
}

std::optional<StoredType> as_bfloat16(hid_t type) {
  if (H5Tget_size(type) != 2) return std::nullopt;
  StoredType stored;
  stored.size = 2;
  stored.type = DType::kBF16;
  stored.standard = true;
  const H5T_class_t type_class = H5Tget_class(type);
  if (type_class == H5T_OPAQUE) return stored;
  if (type_class != H5T_INTEGER || H5Tget_precision(type) != 16) return std::nullopt;
  const auto order = is_big_endian(type);
  if (!order) return std::nullopt;
  stored.big_endian = *order;
  return stored;
}

std::string type_class_name(hid_t type) {
  if (const auto numbers = stored_type(type)) return numbers->name();
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return "unusual integer";
    case H5T_FLOAT:
      return "unusual float";
    case H5T_TIME:
      return "time";
    case H5T_STRING:
      return "string";
    case H5T_BITFIELD:
      return "bitfield";
    case H5T_OPAQUE:
      return "opaque";
    case H5T_COMPOUND:
      return "compound";
    case H5T_REFERENCE:
      return "reference";
    case H5T_ENUM:
      return "enum";
    case H5T_VLEN:
      return "variable-length";
    case H5T_ARRAY:
      return "array";
    default:
      return "unknown";
  }
}

}  // namespace attn
