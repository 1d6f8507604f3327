#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace attn {

/// How a tensor becomes lines of text.
struct TableStyle {
  char separator = '\t';             ///< ',' for csv
  bool long_form = false;            ///< one line "i j k value" for each number
  std::string title;                 ///< a first line after "# "; none if empty
  std::vector<std::string> columns;  ///< names of the columns, in a line after "# "; may be empty
};

/// A number in the shortest digits that read back as the same T, with a point whatever the locale;
/// "nan", "inf", "-inf".
template <class T>
std::string number_text(T value);

/// Rows of all leading axes, columns of the last one; a one-dimensional tensor is a column, a
/// scalar one line. T: float, double, int64, uint64, int32 or uint8, here and below.
template <class T>
std::string table_text(const Shape& shape, std::span<const T> values, const TableStyle& style = {});

/// Nested JSON arrays as the shape has it, a bare number for a scalar, null for what is not finite.
/// Floats are written as the double they are, since that is what readers of JSON make of them.
template <class T>
std::string json_values(const Shape& shape, std::span<const T> values);

}  // namespace attn
