#pragma once

#include <string>
#include <vector>

#include "cli/picture.h"
#include "cli/picture_grid.h"

namespace attn::cli {

/// The longest label that pictures show, in characters.
inline constexpr std::size_t kLabelWidth = 8;

/// What stands before each row of a small picture: "  12  word", as wide for every row.
class RowHeads {
 public:
  RowHeads(const HeatMap& map, const Terminal& terminal);
  std::string text(Index row) const;
  std::size_t width() const;

 private:
  const HeatMap& map_;
  const Terminal& terminal_;
  std::size_t number_width_;
  std::size_t label_width_;
};

/// Columns of a coloured cell: three digits, a minus where there may be one, a blank.
std::size_t coloured_cell_width(const HeatMap& map);

/// Values in percent on coloured cells.
std::string cells_form(const HeatMap& map, const Terminal& terminal);

/// Tenths in plain characters: two columns a value, four where it has a sign.
std::string digits_form(const HeatMap& map, const Terminal& terminal);

/// Lines of one character a column: half blocks (two rows a line) in colour, else shades or
/// digits.
std::vector<std::string> raster_lines(const PictureGrid& grid, const Terminal& terminal,
                                      bool digits);

/// Title, scale, what rows and columns are, what a dot means, how much was pooled.
std::string legend(const HeatMap& map, const PictureGrid& grid, const Terminal& terminal,
                   const std::string& scale);

}  // namespace attn::cli
