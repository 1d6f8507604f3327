#include "posenc-dump/picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cli/picture.h"

namespace attn {
namespace {

double largest_magnitude(const std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest > 0 ? static_cast<double>(largest) : 1;
}

std::string alibi_picture(const PositionTables& tables, const cli::Terminal& terminal) {
  const PositionPart& bias = tables.parts.front();
  const std::vector<float> values(bias.values.values.begin(), bias.values.values.end());
  std::vector<std::uint8_t> hidden;
  hidden.reserve(values.size());
  for (const float value : values) hidden.push_back(std::isinf(value) ? 1 : 0);
  const Index n = bias.values.dim(1);
  const Index m = bias.values.dim(2);
  std::vector<cli::HeatMap> maps;
  for (Index head = 0; head < bias.values.dim(0); ++head) {
    cli::HeatMap map;
    map.title = fmt::format("head {} slope {:.4g}", head, tables.parts[1].values.data()[head]);
    map.values = {values.data() + head * n * m, n, m};
    map.hidden = {hidden.data() + head * n * m, n, m};
    map.rows_are = "query";
    map.cols_are = "key";
    map.low = std::min(-1.0, -largest_magnitude(values));
    map.high = 0;
    map.argmax = false;
    maps.push_back(std::move(map));
  }
  return cli::heat_maps(maps, terminal);
}

cli::Curve column_curve(const PositionPart& part, Index column) {
  cli::Curve curve;
  curve.label = part.columns.empty() ? fmt::format("feature {}", column)
                                     : part.columns[static_cast<std::size_t>(column)];
  for (Index row = 0; row < part.values.dim(0); ++row) {
    curve.y.push_back(part.values.matrix()(row, column));
  }
  return curve;
}

}  // namespace

std::string tables_picture(const PosencOptions& o, const PositionTables& tables,
                           const cli::Terminal& terminal) {
  if (o.kind == PositionKind::kAlibi) return alibi_picture(tables, terminal);
  const PositionPart& first = tables.parts.front();
  const std::vector<float> values(first.values.values.begin(), first.values.values.end());
  const bool unit = o.kind == PositionKind::kSinusoidal && !o.similarity;
  cli::HeatMap map;
  map.title = tables.title;
  map.values = {values.data(), first.values.dim(0), first.values.dim(1)};
  map.rows_are = first.axes[0];
  map.cols_are = first.axes[1];
  map.high = unit ? 1 : largest_magnitude(values);
  map.low = o.kind == PositionKind::kT5 ? 0 : -map.high;
  map.argmax = false;
  std::string text = cli::heat_map(map, terminal) + "\n";
  cli::Chart chart;
  chart.x_is = "position";
  if (o.kind == PositionKind::kT5) {
    chart.title = "buckets of the last query's keys";
    chart.x_is = "key";
    cli::Curve curve;
    curve.label = "bucket";
    const Matrix<const double> rows = first.values.matrix();
    for (Index j = 0; j < rows.cols(); ++j) curve.y.push_back(rows(rows.rows() - 1, j));
    chart.curves.push_back(std::move(curve));
  } else if (o.similarity) {
    const Index middle = first.values.dim(0) / 2;
    chart.title = fmt::format("row {} against all others", middle);
    cli::Curve curve = column_curve(first, middle);
    curve.label = "dot product";
    chart.curves.push_back(std::move(curve));
  } else {
    // One fast column, one medium, two slow ones.
    chart.title = "columns against position";
    std::vector<Index> columns;
    for (const Index part : {0, 8, 16, 32}) {
      const Index column = std::min(first.values.dim(1) * part / 64, first.values.dim(1) - 1);
      if (std::count(columns.begin(), columns.end(), column) > 0) continue;
      columns.push_back(column);
      chart.curves.push_back(column_curve(first, column));
    }
  }
  return text + cli::chart(chart, terminal);
}

}  // namespace attn
