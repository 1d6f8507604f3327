#include "model/position_similarity.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"
#include "core/rng.h"
#include "core/text.h"

namespace attn {
namespace {

double inner(const double* a, const double* b, Index count) {
  double sum = 0;
  for (Index i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

Tensor<double> products(const Matrix<const double>& left, const Matrix<const double>& right) {
  Tensor<double> made({left.rows(), right.rows()});
  for (Index r = 0; r < left.rows(); ++r) {
    for (Index c = 0; c < right.rows(); ++c) {
      made.matrix()(r, c) = inner(left.row(r), right.row(c), left.cols());
    }
  }
  return made;
}

// The widest range of the products of pairs at the same p - r.
double deviation(const Tensor<double>& products, const std::vector<Index>& positions) {
  struct Range {
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
  };
  std::map<Index, Range> by_distance;
  const Index n = products.dim(0);
  for (Index p = 0; p < n; ++p) {
    for (Index r = 0; r < n; ++r) {
      Range& range = by_distance[positions[static_cast<std::size_t>(p)] -
                                 positions[static_cast<std::size_t>(r)]];
      range.low = std::min(range.low, products.matrix()(p, r));
      range.high = std::max(range.high, products.matrix()(p, r));
    }
  }
  double widest = 0;
  for (const auto& [distance, range] : by_distance) {
    widest = std::max(widest, range.high - range.low);
  }
  return widest;
}

const PositionPart& part_of(const PositionTables& tables, std::string_view name) {
  for (const PositionPart& part : tables.parts) {
    if (part.name == name) return part;
  }
  throw ShapeError("similarity: the tables lack a part");
}

// One vector at every position: (positions, rotary_dim).
Tensor<double> turned(const PositionTables& tables, RopePairs pairs,
                      const std::vector<double>& vector) {
  const PositionPart& cos = part_of(tables, "cos");
  const Index rows = cos.values.dim(0);
  const Index half = cos.values.dim(1);
  RopeTable<double> table;
  table.half = half;
  table.cos = cos.values.values;
  table.sin = part_of(tables, "sin").values.values;
  Tensor<double> all({rows, 2 * half});
  for (Index r = 0; r < rows; ++r) std::copy(vector.begin(), vector.end(), all.matrix().row(r));
  rope_rotate<double>(table, pairs, 2 * half, 0, all.matrix());
  return all;
}

// Two matrices of all pairs at a time.
void check_size(const std::vector<Index>& positions, Index max_bytes) {
  const Index n = static_cast<Index>(positions.size());
  const Index extents[] = {n, n, 2 * static_cast<Index>(sizeof(double))};
  const auto bytes = checked_product(extents);
  if (bytes && *bytes <= max_bytes) return;
  throw DataError(fmt::format("the dot products of {} positions need {}, and may take {}", n,
                              bytes ? short_size_text(*bytes) : "more than 2^63 bytes",
                              short_size_text(max_bytes)),
                  {"--max-bytes allows more"});
}

}  // namespace

PositionSimilarity table_similarity(const PositionTables& tables, Index max_bytes) {
  check_size(tables.positions, max_bytes);
  const Matrix<const double> rows = part_of(tables, "table").values.matrix();
  PositionSimilarity made{products(rows, rows), 0};
  double largest = 0;
  for (Index r = 0; r < rows.rows(); ++r) {
    largest = std::max(largest, made.products.matrix()(r, r));
  }
  if (largest > 0) made.deviation = deviation(made.products, tables.positions) / largest;
  return made;
}

PositionSimilarity rope_similarity(const PositionTables& tables, RopePairs pairs, Index max_bytes) {
  check_size(tables.positions, max_bytes);
  const Index width = 2 * part_of(tables, "cos").values.dim(1);
  const auto features = static_cast<std::size_t>(width);
  const Tensor<double> ones = turned(
      tables, pairs, std::vector<double>(features, 1 / std::sqrt(static_cast<double>(width))));
  PositionSimilarity made{products(ones.matrix(), ones.matrix()), 0};
  made.deviation = deviation(made.products, tables.positions);
  constexpr std::uint64_t kSeed = 0;
  Rng random(kSeed, RandomPurpose::kExample);
  std::vector<double> q(features), k(features);
  for (std::vector<double>* vector : {&q, &k}) {
    double square = 0;
    for (double& value : *vector) {
      value = random.normal();
      square += value * value;
    }
    for (double& value : *vector) value /= std::sqrt(square);
  }
  const Tensor<double> queries = turned(tables, pairs, q);
  const Tensor<double> keys = turned(tables, pairs, k);
  const Tensor<double> scores = products(queries.matrix(), keys.matrix());
  made.deviation = std::max(made.deviation, deviation(scores, tables.positions));
  return made;
}

}  // namespace attn
