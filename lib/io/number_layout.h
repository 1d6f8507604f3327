#pragma once

#include <cstddef>
#include <string>

#include "core/dtype.h"

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
  bool leading_bit_implied = true;  ///< of a float's significand

  /// "f32", "big-endian f64", "80-bit float".
  std::string name() const;
};

}  // namespace attn
