#pragma once

#include <vector>

#include "core/matrix.h"

namespace attn {

/// The two products of the float64 reference, in plain loops over lanes of eight that compilers
/// turn into vector instructions: no code of the fast kernel's, and no BLAS. Every element is one
/// running sum in a fixed order, whatever the processor's vectors, so the bits are the same on all.
inline constexpr Index kLanes = 8;

/// Numbers cut into panels of eight columns: panel p holds columns 8p .. 8p + 7 of all rows, side
/// by side; columns after the last are 0. What is walked through lies in one piece.
class Panels {
 public:
  /// The rows of `matrix` become panels of eight of its columns.
  static Panels of_columns(Matrix<const double> matrix);
  /// The columns of `matrix` become panels of eight of its rows: the transposed matrix's.
  static Panels of_rows(Matrix<const double> matrix);

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index count() const { return (cols_ + kLanes - 1) / kLanes; }
  /// (rows, 8)
  const double* panel(Index p) const { return values_.data() + p * rows_ * kLanes; }

 private:
  Panels(Index rows, Index cols);

  Index rows_ = 0;
  Index cols_ = 0;
  std::vector<double> values_;
};

/// scores(r, 8 * (p - first) + lane) = sum over c of q(r, c) * keys(c, 8 * p + lane) for the panels
/// first .. end - 1. q (rows, features); keys (features, kv_len); scores has 8 columns a panel.
void multiply_keys(Matrix<const double> q, const Panels& keys, Index first, Index end,
                   Matrix<double> scores);

/// out(r, c) += sum over t of weights(r, t) * values(first + t, c), t from 0 to weights.cols() - 1.
/// out has 8 columns for each panel of values.
void mix_values(Matrix<const double> weights, const Panels& values, Index first,
                Matrix<double> out);

}  // namespace attn
