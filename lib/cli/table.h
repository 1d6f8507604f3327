#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::cli {

/// Rows of cells under named columns, for people (aligned) or for programs (tsv, csv, markdown).
/// Never cut or wrapped, whatever the terminal's width.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string name;
    Align align = Align::kRight;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell for each column; otherwise a ShapeError.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  /// Columns aligned, two spaces apart.
  std::string text() const;
  /// "#name<TAB>name" and the rows. Tabs and line ends in cells become spaces.
  std::string tsv() const;
  /// "#name,name" and the rows; cells are quoted where RFC 4180 wants it.
  std::string csv() const;
  /// Their rows alone, behind a beginning that was written before.
  std::string tsv_rows() const;
  std::string csv_rows() const;
  std::string markdown() const;

 private:
  using CellWriter = std::string (*)(std::string_view);

  std::vector<std::size_t> widths() const;
  std::string heading(char separator, CellWriter write) const;
  std::string lines(char separator, CellWriter write) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Columns a text takes in a terminal: its UTF-8 characters.
std::size_t display_width(std::string_view text);
/// Spaces added up to a width.
std::string padded_left(std::string_view text, std::size_t width);
std::string padded_right(std::string_view text, std::size_t width);

/// One cell of a tsv or csv line as it must be written.
std::string tsv_cell(std::string_view cell);
std::string csv_cell(std::string_view cell);

}  // namespace attn::cli
