#include "cli/picture_grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/table.h"
#include "core/text.h"

namespace attn::cli {
namespace {

Index blocks_for(Index extent, Index most) {
  if (extent == 0) return 0;
  return (extent - 1) / std::max<Index>(1, most) + 1;  // `most` may be the largest Index
}

GridCell pool(const HeatMap& map, Index row, Index rows, Index col, Index cols, bool by_magnitude) {
  GridCell cell;
  for (Index i = row; i < std::min(row + rows, map.values.rows()); ++i) {
    for (Index j = col; j < std::min(col + cols, map.values.cols()); ++j) {
      if (!map.hidden.empty() && map.hidden(i, j) != 0) continue;
      const float value = map.values(i, j);
      if (!std::isfinite(value)) return {GridCell::Kind::kNotFinite, 0};
      const bool larger =
          by_magnitude ? std::abs(value) > std::abs(cell.value) : value > cell.value;
      if (cell.kind == GridCell::Kind::kHidden || larger) {
        cell = {GridCell::Kind::kValue, value};
      }
    }
  }
  return cell;
}

std::size_t width_without_escapes(const std::string& text) {
  std::string plain;
  bool escape = false;
  for (const char c : text) {
    if (c == '\x1b') escape = true;
    if (!escape) plain += c;
    if (c == 'm') escape = false;
  }
  return display_width(plain);
}

}  // namespace

std::string parts_within(const std::vector<std::string>& parts, int width) {
  constexpr std::size_t kGap = 3;
  constexpr std::size_t kIndent = 2;
  std::string text;
  std::size_t used = 0;
  for (const std::string& part : parts) {
    const std::size_t wide = width_without_escapes(part);
    if (used > 0 && used + kGap + wide > static_cast<std::size_t>(width)) {
      text += '\n';
      text.append(kIndent, ' ');
      used = kIndent;
    } else if (used > 0) {
      text.append(kGap, ' ');
      used += kGap;
    }
    text += part;
    used += wide;
  }
  return text;
}

PictureGrid::PictureGrid(const HeatMap& map, Index most_rows, Index most_cols)
    : row_block_(std::max<Index>(1, blocks_for(map.values.rows(), most_rows))),
      col_block_(std::max<Index>(1, blocks_for(map.values.cols(), most_cols))),
      low_(map.low),
      high_(map.high),
      signed_(map.low < 0 && map.high > 0) {
  // A map that is about square stays so.
  if (2 * map.values.rows() >= map.values.cols()) row_block_ = std::max(row_block_, col_block_);
  rows_ = blocks_for(map.values.rows(), row_block_);
  cols_ = blocks_for(map.values.cols(), col_block_);
  cells_.reserve(static_cast<std::size_t>(rows_ * cols_));
  for (Index i = 0; i < rows_; ++i) {
    for (Index j = 0; j < cols_; ++j) {
      cells_.push_back(pool(map, i * row_block_, row_block_, j * col_block_, col_block_, signed_));
    }
  }
}

bool PictureGrid::has(GridCell::Kind kind) const {
  return std::any_of(cells_.begin(), cells_.end(),
                     [kind](const GridCell& cell) { return cell.kind == kind; });
}

std::string PictureGrid::pooling_text() const {
  if (!pooled()) return "";
  return fmt::format("each cell = {} of {} x {}", signed_ ? "largest magnitude" : "max", row_block_,
                     col_block_);
}

double PictureGrid::place(float value) const {
  const double width = high_ - low_;
  if (!(width > 0)) return 0;
  return std::clamp((static_cast<double>(value) - low_) / width, 0.0, 1.0);
}

std::string label_text(std::string_view label, const Terminal& terminal, std::size_t width) {
  std::string safe;
  std::size_t used = 0;
  const std::string plain = escaped(label);
  std::string_view rest = plain;
  while (!rest.empty() && used < width) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(rest));
    if (rest.front() == ' ') {
      safe += terminal.utf8 ? "␣" : "_";
    } else if (length > 1 && !terminal.utf8) {
      safe += '?';
    } else {
      safe += rest.substr(0, length);
    }
    rest.remove_prefix(length);
    ++used;
  }
  return safe;
}

std::string_view hidden_mark(const Terminal& terminal) {
  return terminal.utf8 ? "·" : ".";
}

char tenths_mark(double place) {
  // Compared as float, since 0.95F is a little less than 0.95.
  const auto rounded = static_cast<float>(place);
  if (rounded < 0.05F) return ' ';
  if (rounded >= 0.95F) return '*';
  return static_cast<char>('0' + std::lround(std::floor(place * 10 + 0.5)));
}

std::string_view shade_mark(const Terminal& terminal, double place) {
  static constexpr std::array<std::string_view, 5> kBlocks = {" ", "░", "▒", "▓", "█"};
  static constexpr std::array<std::string_view, 10> kAscii = {" ", ".", ":", "-", "=",
                                                              "+", "*", "#", "%", "@"};
  const auto step = [&](std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>(place * static_cast<double>(count)));
  };
  return terminal.utf8 ? kBlocks[step(kBlocks.size())] : kAscii[step(kAscii.size())];
}

std::string scale_text(const HeatMap& map, const PictureGrid& grid, const Terminal& terminal,
                       bool digits) {
  if (digits) {
    if (grid.is_signed()) return fmt::format("tenths of {:.4g}", map.high);
    if (map.low == 0 && map.high == 1) return "tenths";
    return fmt::format("tenths of {:.4g} to {:.4g}", map.low, map.high);
  }
  constexpr int kSteps = 10;
  std::string bar;
  for (int i = 0; i < kSteps; ++i) {
    const double place = (i + 0.5) / kSteps;
    if (terminal.color == ColorMode::kNone) {
      bar += shade_mark(terminal, place);
    } else {
      bar += background(terminal, grid.ramp(), place) + " ";
    }
  }
  return fmt::format("{:.4g} {}{} {:.4g}", map.low, bar, reset(terminal), map.high);
}

}  // namespace attn::cli
