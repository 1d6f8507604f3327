#include "cli/picture.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/picture_forms.h"
#include "cli/table.h"
#include "core/error.h"

namespace attn::cli {
namespace {

constexpr Index kMostCellColumns = 17;
constexpr Index kMostDigitColumns = 24;
constexpr std::size_t kGap = 3;       // between thumbnails
constexpr Index kMostSmallRows = 64;  // of the forms that give each row of the matrix a line

void check_labels(const HeatMap& map) {
  const auto fits = [](const std::vector<std::string>& labels, Index extent) {
    return labels.empty() || static_cast<Index>(labels.size()) == extent;
  };
  require_shape(
      fits(map.row_labels, map.values.rows()) && fits(map.col_labels, map.values.cols()),
      fmt::format("heat map: {} row and {} column labels for {} x {} values", map.row_labels.size(),
                  map.col_labels.size(), map.values.rows(), map.values.cols()));
}

// Thumbnails that stand beside each other in one band, and their titles above them.
std::string band(const std::vector<HeatMap>& maps, const std::vector<PictureGrid>& grids,
                 std::size_t first, std::size_t last, std::size_t width, bool digits,
                 const Terminal& terminal) {
  std::vector<std::vector<std::string>> blocks;
  std::size_t lines = 0;
  std::string text;
  for (std::size_t k = first; k < last; ++k) {
    if (k > first) text.append(kGap, ' ');
    text += padded_right(maps[k].title, width);
    blocks.push_back(raster_lines(grids[k], terminal, digits));
    lines = std::max(lines, blocks.back().size());
  }
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
  for (std::size_t line = 0; line < lines; ++line) {
    std::string row;
    for (std::size_t k = first; k < last; ++k) {
      if (k > first) row.append(kGap, ' ');
      const auto& block = blocks[k - first];
      // Escapes take no columns, so the padding is counted in cells.
      const auto used = line < block.size() ? static_cast<std::size_t>(grids[k].cols()) : 0;
      if (line < block.size()) row += block[line];
      row.append(width - used, ' ');
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

}  // namespace

std::string heat_map(const HeatMap& map, const Terminal& terminal) {
  check_labels(map);
  if (map.values.empty()) return fmt::format("{}   empty\n", map.title);
  const RowHeads heads(map, terminal);
  const bool colored = terminal.color != ColorMode::kNone;
  const auto width = static_cast<std::size_t>(terminal.width);
  const std::size_t argmax_width = map.argmax ? 20 : 0;
  const auto fits = [&](Index most_cols, std::size_t cell) {
    return map.values.cols() <= most_cols && map.values.rows() <= kMostSmallRows &&
           heads.width() + 2 + cell * static_cast<std::size_t>(map.values.cols()) <= width;
  };
  HeatMap drawn = map;
  const std::size_t cell =
      colored ? coloured_cell_width(map) : (map.low < 0 && map.high > 0 ? 4 : 2);
  // The column of largest values goes before the cells do.
  drawn.argmax = map.argmax && heads.width() + 2 + argmax_width +
                                       cell * static_cast<std::size_t>(map.values.cols()) <=
                                   width;
  if (colored && fits(kMostCellColumns, cell)) return cells_form(drawn, terminal);
  if (!colored && fits(kMostDigitColumns, cell)) return digits_form(drawn, terminal);

  constexpr Index kMostLines = 40;
  const Index rows_a_line = colored && terminal.utf8 ? 2 : 1;
  const PictureGrid grid(map, kMostLines * rows_a_line, std::max<Index>(1, terminal.width - 4));
  std::string text = legend(map, grid, terminal, scale_text(map, grid, terminal, false));
  for (const std::string& line : raster_lines(grid, terminal, false)) text += "  " + line + "\n";
  return text;
}

std::string heat_maps(const std::vector<HeatMap>& maps, const Terminal& terminal) {
  if (maps.empty()) return "";
  if (maps.size() == 1) {
    HeatMap one = maps.front();
    if (!one.group.empty()) one.title = one.group + (one.title.empty() ? "" : " ") + one.title;
    return heat_map(one, terminal);
  }
  constexpr Index kMostThumbnail = 38;  // two beside each other in 80 columns
  const bool colored = terminal.color != ColorMode::kNone;
  const auto most_cols = std::min<Index>(kMostThumbnail, terminal.width - 2);
  const Index rows_a_line = colored && terminal.utf8 ? 2 : 1;

  std::vector<PictureGrid> grids;
  std::size_t width = 0;
  bool digits = !colored;
  for (const HeatMap& map : maps) {
    check_labels(map);
    grids.emplace_back(map, most_cols * rows_a_line, most_cols);
    digits = digits && grids.back().cols() <= kMostDigitColumns && !grids.back().is_signed();
    width =
        std::max({width, static_cast<std::size_t>(grids.back().cols()), display_width(map.title)});
  }
  const auto across =
      std::max<std::size_t>(1, (static_cast<std::size_t>(terminal.width) + kGap) / (width + kGap));
  std::string text;
  std::size_t last = 0;
  for (std::size_t first = 0; first < maps.size(); first = last) {
    const std::string& group = maps[first].group;
    const bool begins = first == 0 || maps[first - 1].group != group;
    if (first > 0) text += '\n';
    if (begins && !group.empty()) text += group + '\n';
    while (last < maps.size() && last - first < across && maps[last].group == group) ++last;
    text += band(maps, grids, first, last, width, digits, terminal);
  }
  HeatMap all = maps.front();
  all.title.clear();
  const std::string scale = scale_text(all, grids.front(), terminal, digits);
  return text + legend(all, grids.front(), terminal, scale);
}

}  // namespace attn::cli
