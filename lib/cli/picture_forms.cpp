#include "cli/picture_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "cli/table.h"

namespace attn::cli {
namespace {

constexpr Index kNoPooling = std::numeric_limits<Index>::max();

std::string label_at(const std::vector<std::string>& labels, Index at, const Terminal& terminal,
                     std::size_t width) {
  if (labels.empty()) return "";
  return label_text(labels[static_cast<std::size_t>(at)], terminal, width);
}

std::size_t widest(const std::vector<std::string>& labels, const Terminal& terminal) {
  std::size_t width = 0;
  for (const std::string& label : labels) {
    width = std::max(width, display_width(label_text(label, terminal, kLabelWidth)));
  }
  return width;
}

// Where a row is largest, among the values that count.
std::optional<Index> largest_in(const PictureGrid& grid, Index row) {
  std::optional<Index> best;
  for (Index j = 0; j < grid.cols(); ++j) {
    if (grid.at(row, j).kind != GridCell::Kind::kValue) continue;
    if (!best || grid.at(row, j).value > grid.at(row, *best).value) best = j;
  }
  return best;
}

std::string argmax_text(const HeatMap& map, const PictureGrid& grid, Index row,
                        const Terminal& terminal) {
  const auto at = largest_in(grid, row);
  if (!at) return "   -";
  std::string text = fmt::format("  {:>3}", *at);
  if (!map.col_labels.empty()) {
    text += fmt::format(" ({})", label_at(map.col_labels, *at, terminal, kLabelWidth));
  }
  return text + fmt::format(" {:.2f}", grid.at(row, *at).value);
}

// Whole numbers of at most three digits are read as they are; else percent of the scale are.
bool whole_numbers(const PictureGrid& grid) {
  constexpr float kMost = 999;
  bool more_than_ones = false;
  for (Index i = 0; i < grid.rows(); ++i) {
    for (Index j = 0; j < grid.cols(); ++j) {
      if (grid.at(i, j).kind != GridCell::Kind::kValue) continue;
      const float value = grid.at(i, j).value;
      if (value != std::round(value) || std::abs(value) > kMost) return false;
      more_than_ones = more_than_ones || std::abs(value) > 1;
    }
  }
  return more_than_ones;
}

// The names of the columns over cells of a width: labels where they fit, else the last digits of
// the numbers.
std::string column_heads(const HeatMap& map, std::size_t indent, std::size_t cell,
                         const Terminal& terminal) {
  std::string line(indent, ' ');
  const bool labelled =
      !map.col_labels.empty() && (cell > 2 || widest(map.col_labels, terminal) < cell);
  for (Index j = 0; j < map.values.cols(); ++j) {
    const std::string head = labelled ? label_at(map.col_labels, j, terminal, cell - 1)
                                      : fmt::format("{}", cell > 2 ? j : j % 10);
    line += padded_left(head, cell);
  }
  return line;
}

}  // namespace

RowHeads::RowHeads(const HeatMap& map, const Terminal& terminal)
    : map_(map),
      terminal_(terminal),
      number_width_(fmt::format("{}", std::max<Index>(10, map.values.rows() - 1)).size()),
      label_width_(widest(map.row_labels, terminal)) {}

std::string RowHeads::text(Index row) const {
  std::string head = fmt::format("  {:>{}}", row, number_width_);
  if (label_width_ == 0) return head;
  return head + "  " +
         padded_left(label_at(map_.row_labels, row, terminal_, kLabelWidth), label_width_);
}

std::size_t RowHeads::width() const {
  return 2 + number_width_ + (label_width_ == 0 ? 0 : 2 + label_width_);
}

std::string legend(const HeatMap& map, const PictureGrid& grid, const Terminal& terminal,
                   const std::string& scale) {
  std::vector<std::string> parts;
  if (!map.title.empty()) parts.push_back(map.title);
  parts.push_back(scale);
  parts.push_back(fmt::format("rows: {}, columns: {}", map.rows_are, map.cols_are));
  if (grid.has(GridCell::Kind::kHidden)) {
    parts.push_back(fmt::format("{} {}", hidden_mark(terminal), map.hidden_is));
  }
  if (grid.has(GridCell::Kind::kNotFinite)) {
    parts.push_back(fmt::format("{} not finite", kNotFiniteMark));
  }
  std::string text = parts_within(parts, terminal.width);
  // On a line of its own, so that nobody misses it.
  if (grid.pooled()) text.append("\n  ").append(grid.pooling_text());
  return text + "\n";
}

std::size_t coloured_cell_width(const HeatMap& map) {
  return map.low < 0 && map.high > 0 ? 5 : 4;
}

// Percent in coloured cells, or the numbers themselves where they are whole.
std::string cells_form(const HeatMap& map, const Terminal& terminal) {
  const RowHeads heads(map, terminal);
  const PictureGrid grid(map, kNoPooling, kNoPooling);
  const std::size_t cell_width = coloured_cell_width(map);
  const std::size_t digits = cell_width - 1;
  const double most = std::max(std::abs(map.low), std::abs(map.high));
  const bool whole = whole_numbers(grid);
  const double unit = whole ? 1 : most > 0 ? 100 / most : 0;
  std::string scale = scale_text(map, grid, terminal, false);
  if (!whole) scale += most == 1 ? ", in percent" : fmt::format(", in percent of {:.4g}", most);
  std::string text = legend(map, grid, terminal, scale);
  text += column_heads(map, heads.width() + 1, cell_width, terminal);
  if (map.argmax) text += "   argmax";
  text += '\n';
  for (Index i = 0; i < grid.rows(); ++i) {
    text += heads.text(i) + "  ";
    for (Index j = 0; j < grid.cols(); ++j) {
      const GridCell& cell = grid.at(i, j);
      if (cell.kind == GridCell::Kind::kHidden) {
        text += dim(terminal) + padded_left(hidden_mark(terminal), digits) + " ";
      } else if (cell.kind == GridCell::Kind::kNotFinite) {
        text += padded_left(std::string(1, kNotFiniteMark), digits) + " ";
      } else {
        const double place = grid.place(cell.value);
        const double shown = unit * static_cast<double>(cell.value);
        text += background(terminal, grid.ramp(), place) +
                readable_on(terminal, grid.ramp(), place) +
                fmt::format("{:>{}} ", std::lround(std::clamp(shown, -999.0, 999.0)), digits);
      }
      text += reset(terminal);
    }
    if (map.argmax) text += argmax_text(map, grid, i, terminal);
    text += '\n';
  }
  return text;
}

// Tenths in plain characters.
std::string digits_form(const HeatMap& map, const Terminal& terminal) {
  const RowHeads heads(map, terminal);
  const PictureGrid grid(map, kNoPooling, kNoPooling);
  const std::size_t cell_width = grid.is_signed() ? 4 : 2;
  std::string text = legend(map, grid, terminal, scale_text(map, grid, terminal, true));
  text += column_heads(map, heads.width() + 1, cell_width, terminal);
  if (map.argmax) text += "   argmax";
  text += '\n';
  for (Index i = 0; i < grid.rows(); ++i) {
    std::string line = heads.text(i) + " ";
    for (Index j = 0; j < grid.cols(); ++j) {
      const GridCell& cell = grid.at(i, j);
      std::string mark(hidden_mark(terminal));
      if (cell.kind == GridCell::Kind::kNotFinite) mark = kNotFiniteMark;
      if (cell.kind == GridCell::Kind::kValue) {
        mark = std::string(1, tenths_mark(grid.place(cell.value)));
        if (grid.is_signed()) {
          const double most = std::max(std::abs(map.low), std::abs(map.high));
          const long tenths = std::lround(10 * static_cast<double>(cell.value) / most);
          mark = tenths == 0 ? "" : fmt::format("{}", std::clamp(tenths, -99L, 99L));
        }
      }
      line += padded_left(mark, cell_width);
    }
    if (map.argmax) line += "  " + argmax_text(map, grid, i, terminal).substr(1);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

// Lines of one character a column, used for large maps and for thumbnails.
std::vector<std::string> raster_lines(const PictureGrid& grid, const Terminal& terminal,
                                      bool digits) {
  std::vector<std::string> lines;
  const auto mark = [&](const GridCell& cell) -> std::string {
    if (cell.kind == GridCell::Kind::kHidden) return std::string(hidden_mark(terminal));
    if (cell.kind == GridCell::Kind::kNotFinite) return std::string(1, kNotFiniteMark);
    const double place = grid.place(cell.value);
    return digits ? std::string(1, tenths_mark(place)) : std::string(shade_mark(terminal, place));
  };
  if (terminal.color == ColorMode::kNone) {
    for (Index i = 0; i < grid.rows(); ++i) {
      std::string& line = lines.emplace_back();
      for (Index j = 0; j < grid.cols(); ++j) line += mark(grid.at(i, j));
    }
    return lines;
  }
  const auto is_value = [&](Index i, Index j) {
    return i < grid.rows() && grid.at(i, j).kind == GridCell::Kind::kValue;
  };
  // An upper half block shows two rows: its ink is the first, its background the second.
  const Index step = terminal.utf8 ? 2 : 1;
  for (Index i = 0; i < grid.rows(); i += step) {
    std::string& line = lines.emplace_back();
    for (Index j = 0; j < grid.cols(); ++j) {
      const bool upper = is_value(i, j);
      const bool lower = step == 2 && is_value(i + 1, j);
      if (step == 1) {
        line += upper ? background(terminal, grid.ramp(), grid.place(grid.at(i, j).value)) + " "
                      : dim(terminal) + mark(grid.at(i, j));
      } else if (upper) {
        line += foreground(terminal, grid.ramp(), grid.place(grid.at(i, j).value));
        if (lower) {
          line += background(terminal, grid.ramp(), grid.place(grid.at(i + 1, j).value));
        }
        line += "▀";
      } else if (lower) {
        line += foreground(terminal, grid.ramp(), grid.place(grid.at(i + 1, j).value)) + "▄";
      } else {
        line += dim(terminal) + mark(grid.at(i, j));
      }
      line += reset(terminal);
    }
  }
  return lines;
}

}  // namespace attn::cli
