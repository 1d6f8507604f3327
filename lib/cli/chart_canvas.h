#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace attn::cli {

/// The mark of a curve where there is no colour; they repeat from the sixth on.
inline constexpr std::array<char, 5> kCurveMarks = {'*', 'o', '+', 'x', '#'};

/// A point of a curve, both between 0 and 1, x to the right and y up.
struct CanvasPoint {
  double x;
  double y;
};

/// Where the curves of a chart are drawn. With colour and UTF-8 the lines are of dots, eight in a
/// cell (Braille patterns), and the colour tells the curves apart; else each curve has its mark.
class ChartCanvas {
 public:
  ChartCanvas(int width, int height, const Terminal& terminal);

  /// Straight lines from point to point, in the order of x. Where curves cross the later one stays.
  void draw(const std::vector<CanvasPoint>& points, int curve);
  /// A line of the canvas from the top, without blanks at its end.
  std::string line(int row) const;
  /// What stands for a curve in the key.
  std::string sample(std::size_t curve) const;

 private:
  struct Cell {
    int curve = -1;
    std::uint8_t dots = 0;
  };

  std::size_t at(int col, int row) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(col);
  }
  void mark(double x, double y, int curve);
  void dot(int x, int y, int curve);
  void marked_line(const CanvasPoint& from, const CanvasPoint& to, int curve);
  void dotted_line(const CanvasPoint& from, const CanvasPoint& to, int curve);

  int width_;
  int height_;
  Terminal terminal_;
  bool dotted_;
  std::vector<Cell> cells_;
};

}  // namespace attn::cli
