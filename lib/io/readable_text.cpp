#include "io/readable_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <vector>

#include "core/text.h"

namespace attn {
namespace {

template <class T>
std::string rounded_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value) ? "nan" : fmt::format("{:.6g}", value);
  } else {
    return fmt::format("{}", value);
  }
}

constexpr Index kGap = -1;  // stands where indices are left out

std::vector<Index> shown_indices(Index extent, Index edge, bool all) {
  std::vector<Index> shown;
  const bool cut = !all && extent > 2 * edge + 1;
  for (Index i = 0; i < extent; ++i) {
    if (cut && i == edge) {
      shown.push_back(kGap);
      i = extent - edge;
    }
    shown.push_back(i);
  }
  return shown;
}

template <class T>
void append_matrix(fmt::memory_buffer& text, const T* values, Index cols,
                   const std::vector<Index>& row_list, const std::vector<Index>& col_list) {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths(col_list.size());
  for (const Index row : row_list) {
    std::vector<std::string> line;
    for (std::size_t c = 0; c < col_list.size(); ++c) {
      const bool gap = row == kGap || col_list[c] == kGap;
      line.push_back(gap ? "..." : rounded_text(values[row * cols + col_list[c]]));
      widths[c] = std::max(widths[c], line.back().size());
    }
    cells.push_back(std::move(line));
  }
  for (const auto& line : cells) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      fmt::format_to(std::back_inserter(text), "  {:>{}}", line[c], widths[c]);
    }
    text.push_back('\n');
  }
}

}  // namespace

template <class T>
std::string readable_text(const Shape& shape, std::span<const T> values,
                          const ReadableStyle& style) {
  if (values.empty()) return "";
  const auto count = static_cast<Index>(values.size());
  const bool all = style.all || count <= style.most;
  fmt::memory_buffer text;
  const std::size_t rank = shape.size();
  // A line of numbers stays a line; it is cut at its ends only.
  const Index cols = rank == 0 ? 1 : shape[rank - 1];
  const Index rows = rank < 2 ? 1 : shape[rank - 2];
  const std::vector<Index> row_list = shown_indices(rows, style.edge, all);
  const std::vector<Index> col_list = shown_indices(cols, style.edge, all);
  // The leading axes, each with its ends only.
  std::vector<std::vector<Index>> leading;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    leading.push_back(shown_indices(shape[i], style.edge, all));
  }
  std::vector<std::size_t> at(leading.size());
  bool in_gap = false;
  while (true) {
    Index matrix = 0;
    bool gap = false;
    std::string label;
    for (std::size_t i = 0; i < leading.size(); ++i) {
      const Index index = leading[i][at[i]];
      gap = gap || index == kGap;
      matrix = matrix * shape[i] + std::max<Index>(index, 0);
      label += fmt::format("{}{}", i == 0 ? "" : ", ", index);
    }
    if (gap) {
      if (!in_gap) text.append(std::string_view("...\n"));
    } else if (!leading.empty()) {
      fmt::format_to(std::back_inserter(text), "[{}]\n", label);
    }
    in_gap = gap;
    if (!gap) append_matrix(text, values.data() + matrix * rows * cols, cols, row_list, col_list);
    std::size_t axis = leading.size();
    while (axis > 0 && ++at[axis - 1] == leading[axis - 1].size()) at[--axis] = 0;
    if (axis == 0) break;
  }
  if (!all) {
    fmt::format_to(std::back_inserter(text), "(shortened: {} {} numbers)\n", style.whole,
                   grouped(count));
  }
  return fmt::to_string(text);
}

template std::string readable_text(const Shape&, std::span<const float>, const ReadableStyle&);
template std::string readable_text(const Shape&, std::span<const double>, const ReadableStyle&);
template std::string readable_text(const Shape&, std::span<const std::int64_t>,
                                   const ReadableStyle&);
template std::string readable_text(const Shape&, std::span<const std::uint64_t>,
                                   const ReadableStyle&);
template std::string readable_text(const Shape&, std::span<const std::int32_t>,
                                   const ReadableStyle&);
template std::string readable_text(const Shape&, std::span<const std::uint8_t>,
                                   const ReadableStyle&);

}  // namespace attn
