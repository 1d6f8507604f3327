#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/color.h"
#include "cli/picture.h"
#include "core/index.h"

namespace attn::cli {

/// What a cell of a picture shows: a place on the scale, or why there is none.
struct GridCell {
  enum class Kind { kValue, kHidden, kNotFinite };
  Kind kind = Kind::kHidden;
  float value = 0;
};

/// A heat map made small enough: each cell the largest (by magnitude, where the data have a
/// sign) of a block of values. Hidden only where the whole block is; not finite where any is.
class PictureGrid {
 public:
  PictureGrid(const HeatMap& map, Index most_rows, Index most_cols);

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  const GridCell& at(Index row, Index col) const {
    return cells_[static_cast<std::size_t>(row * cols_ + col)];
  }
  bool has(GridCell::Kind kind) const;
  bool pooled() const { return row_block_ > 1 || col_block_ > 1; }
  /// "each cell = max of 4 x 4", empty if not pooled.
  std::string pooling_text() const;

  Ramp ramp() const { return signed_ ? Ramp::kDiverging : Ramp::kSequential; }
  bool is_signed() const { return signed_; }
  /// Where a value lies between the ends of the scale, 0 to 1.
  double place(float value) const;

 private:
  Index rows_ = 0;
  Index cols_ = 0;
  Index row_block_ = 1;
  Index col_block_ = 1;
  double low_;
  double high_;
  bool signed_;
  std::vector<GridCell> cells_;
};

/// A label that cannot disturb a picture: control characters escaped, a space visible, and ASCII
/// only where the terminal is.
std::string label_text(std::string_view label, const Terminal& terminal, std::size_t width);

/// Parts of a legend, three spaces apart, on as many lines as a width needs; colours take none.
std::string parts_within(const std::vector<std::string>& parts, int width);

/// The mark of a masked cell, and of one that is not finite.
std::string_view hidden_mark(const Terminal& terminal);
inline constexpr char kNotFiniteMark = '?';

/// One character for a value: tenths, `*` from 0.95 on, blank below 0.05.
char tenths_mark(double place);
/// One of the terminal's shades, light to dense.
std::string_view shade_mark(const Terminal& terminal, double place);

/// The ends of the scale with the colours or marks between them.
std::string scale_text(const HeatMap& map, const PictureGrid& grid, const Terminal& terminal,
                       bool digits);

}  // namespace attn::cli
