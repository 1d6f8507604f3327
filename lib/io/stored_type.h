#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/dtype.h"
#include "io/hdf5_handle.h"

namespace attn {

/// How one number of a dataset or attribute is laid out in the file.
struct StoredType {
  enum class Kind { kFloat, kSigned, kUnsigned };
  Kind kind = Kind::kFloat;
  DType type = DType::kF32;  ///< itself if `standard`, else the nearest that holds it
  std::size_t size = 0;      ///< bytes, at most 16
  bool big_endian = false;
  /// One of the DTypes bit for bit (apart from byte order); otherwise the fields below tell.
  bool standard = false;

  std::size_t offset = 0;     ///< first significant bit
  std::size_t precision = 0;  ///< significant bits
  std::size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
  std::size_t exponent_bias = 0;
  H5T_norm_t norm = H5T_NORM_IMPLIED;

  /// "f32", "big-endian f64", "80-bit float".
  std::string name() const;
};

/// Floats and integers up to 16 bytes in either byte order, and the FALSE/TRUE enum that h5py
/// writes for bool. Nothing for all other types; `type_class_name` names them.
std::optional<StoredType> stored_type(hid_t type);

/// bfloat16 kept as 2-byte integers or opaque bytes (which only an attribute can tell).
std::optional<StoredType> as_bfloat16(hid_t type);

/// "string", "compound", "enum", "f32" ... for messages.
std::string type_class_name(hid_t type);

}  // namespace attn
