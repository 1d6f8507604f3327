#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cli/color.h"
#include "cli/picture.h"
#include "cli/picture_grid.h"
#include "cli/table.h"
#include "core/error.h"
#include "core/index.h"
#include "core/text.h"

namespace attn::cli {
namespace {

constexpr std::array<char, 5> kMarks = {'*', 'o', '+', 'x', '#'};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // 0 at low, 1 at high; the middle where all values are the same.
  double place(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

double scaled(double value, bool logarithmic) {
  if (!logarithmic) return value;
  return value > 0 ? std::log(value) : std::numeric_limits<double>::quiet_NaN();
}

double unscaled(double value, bool logarithmic) {
  return logarithmic ? std::exp(value) : value;
}

struct Point {
  double x;
  double y;
};

std::vector<Point> points_of(const Curve& curve, const Chart& chart) {
  require_shape(curve.x.empty() || curve.x.size() == curve.y.size(),
                "chart: a curve has another number of x than of y");
  std::vector<Point> points;
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    const double x = curve.x.empty() ? static_cast<double>(i) : curve.x[i];
    const Point point{scaled(x, chart.log_x), scaled(curve.y[i], chart.log_y)};
    if (std::isfinite(point.x) && std::isfinite(point.y)) points.push_back(point);
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.x < b.x; });
  return points;
}

// A canvas of characters that remembers which curve drew them.
class Canvas {
 public:
  Canvas(int width, int height) : width_(width), height_(height), owner_(at(height, 0), -1) {}

  void mark(double x, double y, int owner) {
    const auto col = static_cast<int>(std::lround(x * (width_ - 1)));
    const auto row = height_ - 1 - static_cast<int>(std::lround(y * (height_ - 1)));
    owner_[at(row, col)] = owner;
  }
  std::string line(int row, const Terminal& terminal) const {
    std::string text;
    for (int col = 0; col < width_; ++col) {
      const int owner = owner_[at(row, col)];
      if (owner < 0) {
        text += ' ';
        continue;
      }
      const auto curve = static_cast<std::size_t>(owner);
      text += line_color(terminal, curve);
      text += kMarks[curve % kMarks.size()];
      text += reset(terminal);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }
  int width() const { return width_; }

 private:
  std::size_t at(int row, int col) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(col);
  }

  int width_;
  int height_;
  std::vector<int> owner_;
};

void draw(Canvas& canvas, const std::vector<Point>& points, const Range& x, const Range& y,
          int owner) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    canvas.mark(x.place(points[i].x), y.place(points[i].y), owner);
    if (i + 1 == points.size()) break;
    // Straight on to the next point, a mark a column.
    const Point& next = points[i + 1];
    const double columns =
        (x.place(next.x) - x.place(points[i].x)) * static_cast<double>(canvas.width() - 1);
    for (double step = 1; step < columns; ++step) {
      const double part = step / columns;
      canvas.mark(x.place(points[i].x + (next.x - points[i].x) * part),
                  y.place(points[i].y + (next.y - points[i].y) * part), owner);
    }
  }
}

std::string tick(double value) {
  return fmt::format("{:.4g}", value);
}

}  // namespace

std::string chart(const Chart& chart, const Terminal& terminal) {
  std::vector<std::vector<Point>> curves;
  Range x;
  Range y;
  for (const Curve& curve : chart.curves) {
    curves.push_back(points_of(curve, chart));
    for (const Point& point : curves.back()) {
      x.include(point.x);
      y.include(point.y);
    }
  }
  std::string text = chart.title.empty() ? "" : chart.title + "\n";
  if (!(x.low <= x.high)) return text + "  no points to draw\n";

  const int height = std::max(2, chart.height);
  std::vector<std::string> ticks(static_cast<std::size_t>(height));
  std::size_t tick_width = 0;
  for (int row = 0; row < height; row += std::max(1, (height - 1) / 3)) {
    const double place = 1.0 - static_cast<double>(row) / (height - 1);
    std::string& here = ticks[static_cast<std::size_t>(row)];
    const double value = unscaled(y.low + (y.high - y.low) * place, chart.log_y);
    here = chart.y_tick != nullptr ? chart.y_tick(value) : tick(value);
    tick_width = std::max(tick_width, display_width(here));
  }
  const int width = std::max(8, terminal.width - static_cast<int>(tick_width) - 4);
  Canvas canvas(width, height);
  for (std::size_t k = 0; k < curves.size(); ++k) {
    draw(canvas, curves[k], x, y, static_cast<int>(k));
  }
  const std::string_view wall = terminal.utf8 ? "│" : "|";
  for (int row = 0; row < height; ++row) {
    text += fmt::format(" {} {}{}\n", padded_left(ticks[static_cast<std::size_t>(row)], tick_width),
                        wall, canvas.line(row, terminal));
  }
  text += std::string(tick_width + 2, ' ') + (terminal.utf8 ? "└" : "+");
  for (int i = 0; i < width; ++i) text += terminal.utf8 ? "─" : "-";
  const std::string first = tick(unscaled(x.low, chart.log_x));
  const std::string last = tick(unscaled(x.high, chart.log_x));
  const auto room = static_cast<std::size_t>(width);
  const std::size_t middle =
      room > first.size() + last.size() ? room - first.size() - last.size() : 1;
  std::string name = chart.x_is.substr(0, middle > 2 ? middle - 2 : 0);
  name.insert(0, (middle - name.size()) / 2, ' ');
  text +=
      '\n' + std::string(tick_width + 3, ' ') + first + padded_right(name, middle) + last + '\n';
  std::vector<std::string> keys;
  for (std::size_t k = 0; k < chart.curves.size(); ++k) {
    keys.push_back(fmt::format("{}{}{} {}", line_color(terminal, k), kMarks[k % kMarks.size()],
                               reset(terminal), chart.curves[k].label));
  }
  if (!chart.y_is.empty()) keys.push_back(fmt::format("up: {}", chart.y_is));
  return text + "  " + parts_within(keys, terminal.width - 2) + '\n';
}

}  // namespace attn::cli
