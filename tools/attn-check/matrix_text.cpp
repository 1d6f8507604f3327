#include "attn-check/matrix_text.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>
#include <vector>

#include "cli/table.h"

namespace attn {
namespace {

using cli::Table;

Index shown_of(Index count) {
  return count <= kMostWhole ? count : kShownOfMore;
}

}  // namespace

std::string three_digits(double number) {
  if (std::isnan(number)) return "nan";  // whatever its sign
  return fmt::format("{:.3f}", number);
}

std::string matrix_text(const Tensor<double>& matrix, const MatrixText& style) {
  const Index rows = matrix.dim(0);
  const Index columns = matrix.dim(1);
  std::vector<Table::Column> names = {{"", Table::Align::kLeft}};
  for (Index j = 0; j < shown_of(columns); ++j) {
    names.push_back({fmt::format("{}{}", style.column_letter, j)});
  }
  const bool wide = shown_of(columns) < columns;
  if (wide) names.push_back({"…"});
  Table table(std::move(names));
  for (Index i = 0; i < shown_of(rows); ++i) {
    const Index number = style.row_numbers != nullptr
                             ? (*style.row_numbers)[static_cast<std::size_t>(i)]
                             : style.first_row + i;
    std::vector<std::string> cells = {fmt::format("  {}{}", style.row_letter, number)};
    for (Index j = 0; j < shown_of(columns); ++j) {
      const double value = matrix.data()[i * columns + j];
      const bool hidden = std::isnan(value) || (std::isinf(value) && value < 0);
      cells.push_back(style.dots && hidden ? "." : three_digits(value));
    }
    if (wide) cells.emplace_back("…");
    table.add(std::move(cells));
  }
  std::string text = table.text();
  if (shown_of(rows) < rows) text += fmt::format("  … {} rows in all\n", rows);
  return text;
}

}  // namespace attn
