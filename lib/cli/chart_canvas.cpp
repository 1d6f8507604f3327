#include "cli/chart_canvas.h"

#include <algorithm>
#include <cmath>

#include "cli/color.h"

namespace attn::cli {
namespace {

constexpr int kDotsAcross = 2;  // of one cell
constexpr int kDotsDown = 4;

// The bit of a dot in U+2800 + bits: down the left column, down the right one, then the last row.
std::uint8_t dot_bit(int across, int down) {
  const int bit = down < 3 ? 3 * across + down : 6 + across;
  return static_cast<std::uint8_t>(1 << bit);
}

// U+2800 + dots in UTF-8.
std::string braille(std::uint8_t dots) {
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | dots >> 6),
          static_cast<char>(0x80 | (dots & 0x3F))};
}

int nearest(double place, int count) {
  return std::clamp(static_cast<int>(std::lround(place * (count - 1))), 0, count - 1);
}

}  // namespace

ChartCanvas::ChartCanvas(int width, int height, const Terminal& terminal)
    : width_(width),
      height_(height),
      terminal_(terminal),
      dotted_(terminal.color != ColorMode::kNone && terminal.utf8),
      cells_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

void ChartCanvas::mark(double x, double y, int curve) {
  cells_[at(nearest(x, width_), height_ - 1 - nearest(y, height_))].curve = curve;
}

void ChartCanvas::dot(int x, int y, int curve) {
  Cell& cell = cells_[at(x / kDotsAcross, y / kDotsDown)];
  // A cell has one colour: the dots of another curve in it would take it on.
  if (cell.curve != curve) cell.dots = 0;
  cell.curve = curve;
  cell.dots = static_cast<std::uint8_t>(cell.dots | dot_bit(x % kDotsAcross, y % kDotsDown));
}

// A mark in each column.
void ChartCanvas::marked_line(const CanvasPoint& from, const CanvasPoint& to, int curve) {
  const int first = nearest(from.x, width_);
  const int last = nearest(to.x, width_);
  mark(from.x, from.y, curve);
  mark(to.x, to.y, curve);
  for (int col = first + 1; col < last; ++col) {
    const double x = static_cast<double>(col) / (width_ - 1);
    mark(x, from.y + (to.y - from.y) * (x - from.x) / (to.x - from.x), curve);
  }
}

// Dots without gaps, whichever way is longer.
void ChartCanvas::dotted_line(const CanvasPoint& from, const CanvasPoint& to, int curve) {
  const int across = width_ * kDotsAcross;
  const int down = height_ * kDotsDown;
  const int x0 = nearest(from.x, across);
  const int y0 = down - 1 - nearest(from.y, down);
  const int dx = nearest(to.x, across) - x0;
  const int dy = down - 1 - nearest(to.y, down) - y0;
  const int steps = std::max({std::abs(dx), std::abs(dy), 1});
  for (int step = 0; step <= steps; ++step) {
    const double part = static_cast<double>(step) / steps;
    dot(x0 + static_cast<int>(std::lround(part * dx)),
        y0 + static_cast<int>(std::lround(part * dy)), curve);
  }
}

void ChartCanvas::draw(const std::vector<CanvasPoint>& points, int curve) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const CanvasPoint& next = points[std::min(i + 1, points.size() - 1)];
    if (dotted_) {
      dotted_line(points[i], next, curve);
    } else {
      marked_line(points[i], next, curve);
    }
  }
}

std::string ChartCanvas::line(int row) const {
  std::string text;
  std::string blanks;
  for (int col = 0; col < width_; ++col) {
    const Cell& cell = cells_[at(col, row)];
    if (cell.curve < 0) {
      blanks += ' ';
      continue;
    }
    const auto curve = static_cast<std::size_t>(cell.curve);
    text += blanks + line_color(terminal_, curve);
    text += dotted_ ? braille(cell.dots) : std::string(1, kCurveMarks[curve % kCurveMarks.size()]);
    text += reset(terminal_);
    blanks.clear();
  }
  return text;
}

std::string ChartCanvas::sample(std::size_t curve) const {
  const std::string mark = dotted_ ? "━━" : std::string(1, kCurveMarks[curve % kCurveMarks.size()]);
  return line_color(terminal_, curve) + mark + reset(terminal_);
}

}  // namespace attn::cli
