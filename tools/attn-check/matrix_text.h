#pragma once

#include <string>
#include <vector>

#include "core/index.h"
#include "core/tensor.h"

namespace attn {

/// How the rows and columns of a printed matrix are called.
struct MatrixText {
  const char* row_letter = "q";
  const char* column_letter = "k";
  Index first_row = 0;  // number of the first one
  bool dots = false;    // a dot where minus infinity or NaN stands: hidden
  const std::vector<Index>* row_numbers = nullptr;  // where they do not follow each other
};

/// A matrix (rows, columns) to be read by people: three digits, its rows and columns numbered, of a
/// large one the first rows and columns with "…" for the rest.
std::string matrix_text(const Tensor<double>& matrix, const MatrixText& style);

/// "0.401", "nan", "-inf".
std::string three_digits(double number);

/// Rows or columns that are printed whole; of more, which nobody reads, so many.
inline constexpr Index kMostWhole = 12;
inline constexpr Index kShownOfMore = 8;

}  // namespace attn
