#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/tensor.h"
#include "io/number_layout.h"

namespace attn {

/// What stands before the numbers of a NumPy .npy file (NEP 1; format versions 1 to 3).
struct NpyHeader {
  enum class Kind { kNumbers, kUnicode, kBytes };
  Kind kind = Kind::kNumbers;
  StoredType type;  ///< of numbers
  Shape shape;
  bool fortran = false;        ///< the first axis runs fastest
  bool big_endian = false;     ///< of text: UTF-32 in that order
  std::size_t item_bytes = 0;  ///< of one number, or one text
  std::size_t bytes = 0;       ///< of the header: where the numbers begin
  Index size = 0;              ///< number of elements

  Index data_bytes() const { return size * static_cast<Index>(item_bytes); }
  /// "f32", "big-endian f64", "text".
  std::string type_name() const;
};

/// True where the bytes begin as a .npy file does.
bool is_npy(std::span<const std::byte> bytes);

/// Bytes from the start of a file that hold any header which is accepted.
inline constexpr std::size_t kMostNpyHeader = (std::size_t{64} << 10) + 12;

/// Reads the header of a file that begins with `start`. Numbers are f2, f4, f8, i1 to i8, u1 to u8
/// and b1 in either byte order; two-byte voids ('V2') are bfloat16, as ml_dtypes saves them; U and
/// S are text. Throws DataError ("label: ...") for what is no header, for other types by name
/// (Python objects, which are pickles, are never loaded), and for shapes of more than 8 axes or
/// 2^62 bytes.
NpyHeader read_npy_header(std::span<const std::byte> start, const std::string& label);

}  // namespace attn
