#include "io/file_type.h"

namespace attn {
namespace {

TypeId float16(std::size_t exponent_bits, std::size_t mantissa_bits, std::size_t bias) {
  TypeId type(H5Tcopy(H5T_IEEE_F32LE));
  constexpr std::size_t kSign = 15;
  H5Tset_fields(type.get(), kSign, mantissa_bits, exponent_bits, 0, mantissa_bits);
  H5Tset_ebias(type.get(), bias);
  H5Tset_precision(type.get(), 16);
  H5Tset_size(type.get(), 2);
  return type;
}

hid_t standard(DType type) {
  switch (type) {
    case DType::kF64:
      return H5T_IEEE_F64LE;
    case DType::kI64:
      return H5T_STD_I64LE;
    case DType::kI32:
      return H5T_STD_I32LE;
    case DType::kI16:
      return H5T_STD_I16LE;
    case DType::kI8:
      return H5T_STD_I8LE;
    case DType::kU64:
      return H5T_STD_U64LE;
    case DType::kU32:
      return H5T_STD_U32LE;
    case DType::kU16:
      return H5T_STD_U16LE;
    case DType::kU8:
    case DType::kBool:
      return H5T_STD_U8LE;
    default:
      return H5T_IEEE_F32LE;
  }
}

}  // namespace

TypeId file_type_of(DType type) {
  if (type == DType::kF16) return float16(5, 10, 15);
  if (type == DType::kBF16) return float16(8, 7, 127);
  return TypeId(H5Tcopy(standard(type)));
}

}  // namespace attn
