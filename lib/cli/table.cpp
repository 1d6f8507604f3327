#include "cli/table.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace attn::cli {
namespace {

void append_line(std::string& out, const std::vector<std::string>& cells, char separator,
                 std::string (*write)(std::string_view)) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += separator;
    out += write(cells[i]);
  }
  out += '\n';
}

// A bar would begin the next cell.
std::string markdown_cell(std::string_view cell) {
  std::string plain;
  for (const char c : tsv_cell(cell)) {
    if (c == '|') plain += '\\';
    plain += c;
  }
  return plain;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    text.remove_prefix(std::max<std::size_t>(1, utf8_length(text)));
    ++width;
  }
  return width;
}

std::string padded_left(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  return std::string(width > have ? width - have : 0, ' ').append(text);
}

std::string padded_right(std::string_view text, std::size_t width) {
  const std::size_t have = display_width(text);
  return std::string(text).append(width > have ? width - have : 0, ' ');
}

std::string tsv_cell(std::string_view cell) {
  std::string plain(cell);
  for (char& c : plain) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return plain;
}

std::string csv_cell(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(cell);
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

void Table::add(std::vector<std::string> cells) {
  require_shape(cells.size() == columns_.size(), "table: a row needs one cell for each column");
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.name));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  return widths;
}

std::string Table::text() const {
  const std::vector<std::size_t> width = widths();
  std::string out;
  const auto line = [&](std::size_t i, std::string_view cell, std::string& text) {
    if (i > 0) text += "  ";
    text += columns_[i].align == Align::kRight ? padded_left(cell, width[i])
                                               : padded_right(cell, width[i]);
  };
  const auto finish = [&](std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  std::string heading;
  for (std::size_t i = 0; i < columns_.size(); ++i) line(i, columns_[i].name, heading);
  finish(std::move(heading));
  for (const auto& row : rows_) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) line(i, row[i], text);
    finish(std::move(text));
  }
  return out;
}

std::string Table::heading(char separator, CellWriter write) const {
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(column.name);
  std::string out = "#";
  append_line(out, names, separator, write);
  return out;
}

std::string Table::lines(char separator, CellWriter write) const {
  std::string out;
  for (const auto& row : rows_) append_line(out, row, separator, write);
  return out;
}

std::string Table::tsv() const {
  return heading('\t', tsv_cell) + tsv_rows();
}

std::string Table::csv() const {
  return heading(',', csv_cell) + csv_rows();
}

std::string Table::tsv_rows() const {
  return lines('\t', tsv_cell);
}

std::string Table::csv_rows() const {
  return lines(',', csv_cell);
}

std::string Table::markdown() const {
  std::string out = "|";
  for (const Column& column : columns_) out.append(" ").append(column.name).append(" |");
  out += "\n|";
  for (const Column& column : columns_) {
    out += column.align == Align::kRight ? " ---: |" : " --- |";
  }
  for (const auto& row : rows_) {
    out += "\n|";
    for (const std::string& cell : row) out.append(" ").append(markdown_cell(cell)).append(" |");
  }
  return out + "\n";
}

}  // namespace attn::cli
