#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cli/chart_canvas.h"
#include "cli/chart_ticks.h"
#include "cli/picture.h"
#include "cli/picture_grid.h"
#include "cli/table.h"
#include "core/error.h"
#include "core/text.h"

namespace attn::cli {
namespace {

constexpr int kMostTicksDown = 6;
constexpr int kLeastTickDistance = 11;  // columns

// One axis: what its numbers run from and to, and where one of them lies.
struct Axis {
  AxisKind kind;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool shows(double value) const {
    return std::isfinite(value) && (kind == AxisKind::kLinear || value > 0);
  }
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double scaled(double value) const { return kind == AxisKind::kLinear ? value : std::log(value); }
  // 0 at low, 1 at high; the middle where all values are the same.
  double place(double value) const {
    return high > low ? (scaled(value) - scaled(low)) / (scaled(high) - scaled(low)) : 0.5;
  }
};

Axis axis_of(bool logarithmic, bool binary) {
  return {.kind = !logarithmic ? AxisKind::kLinear : binary ? AxisKind::kLog2 : AxisKind::kLog10};
}

std::vector<CanvasPoint> points_of(const Curve& curve, const Axis& x_axis, const Axis& y_axis) {
  require_shape(curve.x.empty() || curve.x.size() == curve.y.size(),
                "chart: a curve has another number of x than of y");
  std::vector<CanvasPoint> points;
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    const double x = curve.x.empty() ? static_cast<double>(i) : curve.x[i];
    if (x_axis.shows(x) && y_axis.shows(curve.y[i])) points.push_back({x, curve.y[i]});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const CanvasPoint& a, const CanvasPoint& b) { return a.x < b.x; });
  return points;
}

std::string tick_text(double value, std::string (*written)(double)) {
  if (written != nullptr) return written(value);
  constexpr double kMostWhole = 1e7;
  if (value == std::round(value) && std::abs(value) < kMostWhole) {
    return grouped(static_cast<Index>(value));
  }
  return fmt::format("{:.4g}", value);
}

// The x axis and under it its numbers, each below its tick and none run into another.
std::string x_axis_text(const Axis& axis, const std::vector<double>& ticks, const Chart& chart,
                        int width, std::size_t indent, const Terminal& terminal) {
  std::string numbers;
  std::vector<bool> ticked(static_cast<std::size_t>(width), false);
  for (const double value : ticks) {
    const std::string text = tick_text(value, chart.x_tick);
    const auto col = static_cast<std::size_t>(std::lround(axis.place(value) * (width - 1)));
    const std::size_t half = text.size() / 2;
    const std::size_t last =
        static_cast<std::size_t>(width) - std::min<std::size_t>(text.size(), ticked.size());
    const std::size_t from = std::min(col > half ? col - half : 0, last);
    if (!numbers.empty() && from < numbers.size() + 2) continue;
    ticked[col] = true;
    numbers.append(from - numbers.size(), ' ').append(text);
  }
  std::string line(indent, ' ');
  line += terminal.utf8 ? "└" : "+";
  for (const bool tick : ticked) {
    line += terminal.utf8 ? (tick ? "┬" : "─") : (tick ? "+" : "-");
  }
  return line + '\n' + std::string(indent + 1, ' ') + numbers + '\n';
}

}  // namespace

std::string chart(const Chart& chart, const Terminal& terminal) {
  Axis x = axis_of(chart.log_x, chart.powers_of_two);
  Axis y = axis_of(chart.log_y, chart.powers_of_two);
  std::vector<std::vector<CanvasPoint>> curves;
  for (const Curve& curve : chart.curves) {
    curves.push_back(points_of(curve, x, y));
    for (const CanvasPoint& point : curves.back()) {
      x.include(point.x);
      y.include(point.y);
    }
  }
  std::string text = chart.title.empty() ? "" : chart.title + "\n";
  if (!(x.low <= x.high)) return text + "  no points to draw\n";

  const int height = std::max(2, chart.height);
  const std::vector<double> y_ticks =
      axis_ticks(y.low, y.high, std::min(kMostTicksDown, height), y.kind);
  for (const double value : y_ticks) y.include(value);
  std::vector<std::string> ticks(static_cast<std::size_t>(height));
  std::size_t tick_width = 0;
  for (const double value : y_ticks) {
    const auto row = static_cast<std::size_t>(std::lround((1.0 - y.place(value)) * (height - 1)));
    ticks[row] = tick_text(value, chart.y_tick);
    tick_width = std::max(tick_width, display_width(ticks[row]));
  }
  const int width = std::max(8, terminal.width - static_cast<int>(tick_width) - 4);
  const std::vector<double> x_ticks =
      axis_ticks(x.low, x.high, std::max(2, width / kLeastTickDistance), x.kind);
  for (const double value : x_ticks) x.include(value);
  ChartCanvas canvas(width, height, terminal);
  for (std::size_t k = 0; k < curves.size(); ++k) {
    for (CanvasPoint& point : curves[k]) point = {x.place(point.x), y.place(point.y)};
    canvas.draw(curves[k], static_cast<int>(k));
  }
  for (int row = 0; row < height; ++row) {
    const std::string& tick = ticks[static_cast<std::size_t>(row)];
    const std::string_view wall = !terminal.utf8 ? "|" : tick.empty() ? "│" : "┤";  // + is a curve
    text += fmt::format(" {} {}{}\n", padded_left(tick, tick_width), wall, canvas.line(row));
  }
  text += x_axis_text(x, x_ticks, chart, width, tick_width + 2, terminal);
  std::vector<std::string> keys;
  for (std::size_t k = 0; k < chart.curves.size(); ++k) {
    keys.push_back(canvas.sample(k) + " " + chart.curves[k].label);
  }
  if (!chart.x_is.empty()) keys.push_back("across: " + chart.x_is);
  if (!chart.y_is.empty()) keys.push_back("up: " + chart.y_is);
  return text + "  " + parts_within(keys, terminal.width - 2) + '\n';
}

}  // namespace attn::cli
