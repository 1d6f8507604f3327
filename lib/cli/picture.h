#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "core/matrix.h"

namespace attn::cli {

/// A matrix to be looked at.
struct HeatMap {
  std::string title = "";
  /// What it belongs to: thumbnails of one group stand together, under its name.
  std::string group = "";
  Matrix<const float> values = {};
  /// As large as values, 1 where a value is masked; empty when nothing is.
  Matrix<const std::uint8_t> hidden = {};
  std::string hidden_is = "masked";
  /// One for each row or column (tokens, names), or none: then they are numbered.
  std::vector<std::string> row_labels = {};
  std::vector<std::string> col_labels = {};
  std::string rows_are = "row";
  std::string cols_are = "column";
  /// The ends of the scale, the same for all pictures so that they compare. With 0 between them
  /// the data are signed: blue below 0, red above.
  double low = 0.0;
  double high = 1.0;
  /// Say in a last column where each row is largest (small pictures only).
  bool argmax = true;
};

/// One map, as large as the terminal allows: up to 17 columns as labelled cells with values in
/// percent of the scale (whole numbers of up to three digits as they are), beyond as half blocks,
/// two rows of the matrix a line; without colour as digits (tenths; `*` from 0.95, blank below
/// 0.05) up to 24 columns, beyond as shades. A masked cell is a dot and never a 0. What is too
/// large is max-pooled, and the picture says so.
std::string heat_map(const HeatMap& map, const Terminal& terminal);

/// Several maps, side by side as thumbnails, one character a column.
std::string heat_maps(const std::vector<HeatMap>& maps, const Terminal& terminal);

/// One line of a chart. Without x the points are numbered from 0.
struct Curve {
  std::string label = "";
  std::vector<double> y = {};
  std::vector<double> x = {};
};

struct Chart {
  std::string title = "";
  std::vector<Curve> curves = {};
  std::string x_is = "";
  std::string y_is = "";
  bool log_x = false;
  bool log_y = false;
  bool powers_of_two = false;  ///< number logarithmic axes by them, not by powers of ten
  int height = 16;             ///< lines of the plot itself
  /// How a number beside an axis is written: 10,000 or four digits unless said.
  std::string (*x_tick)(double value) = nullptr;
  std::string (*y_tick)(double value) = nullptr;
};

/// Ticks for counts that are powers of two, 131072 as "128 Ki", and for bytes, as "64 GiB".
std::string binary_tick(double count);
std::string bytes_tick(double bytes);

/// Lines between axes with round numbers: of fine dots, each curve in its colour, or of a mark a
/// curve where there is no colour. Points that are not finite (or not positive on a logarithmic
/// axis) are left out.
std::string chart(const Chart& chart, const Terminal& terminal);

}  // namespace attn::cli
