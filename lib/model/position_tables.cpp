#include "model/position_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// Zeros, unless they would take more than they may.
Tensor<float> zeros(const Shape& shape, Index max_bytes) {
  const auto count = checked_product(shape);
  const auto bytes = count ? checked_mul(*count, sizeof(float)) : std::nullopt;
  if (!bytes || *bytes > max_bytes) {
    throw DataError(fmt::format("a table of shape {} needs {}, and may take {}", shape_text(shape),
                                bytes ? short_size_text(*bytes) : "more than 2^63 bytes",
                                short_size_text(max_bytes)),
                    {"--max-bytes allows more"});
  }
  return Tensor<float>(shape);
}

std::vector<std::string> numbered(std::initializer_list<const char*> words, Index count) {
  std::vector<std::string> names;
  for (Index i = 0; i < count; ++i) {
    for (const char* word : words) names.push_back(fmt::format("{}_{}", word, i));
  }
  return names;
}

}  // namespace

PositionTables sinusoidal_tables(Index length, Index dim, double base, Index max_bytes) {
  PositionPart table{"table", zeros({length, dim}, max_bytes), {"position", "feature"}};
  sinusoidal_positions<float>(base, 0, table.values.matrix());
  table.columns = numbered({"sin", "cos"}, (dim + 1) / 2);
  table.columns.resize(static_cast<std::size_t>(dim));
  return {"sinusoidal",
          fmt::format("sinusoidal positions: {} x {}, base {}", length, dim, base),
          {std::move(table)},
          {{"dim", dim}, {"base", base}, {"convention", "interleaved"}, {"variant", "vaswani"}}};
}

PositionTables rope_tables(Index length, Index dim, double base, RopePairs pairs, Index max_bytes) {
  const Index half = dim / 2;
  PositionPart cos{"cos", zeros({length, half}, max_bytes / 2), {"position", "pair"}};
  PositionPart sin{"sin", Tensor<float>({length, half}), {"position", "pair"}};
  PositionPart inv_freq{"inv_freq", Tensor<float>({half}), {"pair"}};
  RopeTable<float> turns(dim, base, 0, length);
  cos.values.values = std::move(turns.cos);
  sin.values.values = std::move(turns.sin);
  for (Index i = 0; i < half; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dim);
    inv_freq.values.data()[i] = static_cast<float>(std::pow(base, exponent));
  }
  cos.columns = numbered({"cos"}, half);
  sin.columns = numbered({"sin"}, half);
  return {"rope",
          fmt::format("rope: {} positions, head dim {}, base {}", length, dim, base),
          {std::move(cos), std::move(sin), std::move(inv_freq)},
          {{"head_dim", dim},
           {"rotary_dim", dim},
           {"theta", base},
           {"convention", pairs == RopePairs::kHalves ? "half_split" : "interleaved"},
           {"scaling", "none"}}};
}

PositionTables alibi_tables(Index length, Index heads, Index max_bytes) {
  PositionPart bias{"bias", zeros({heads, length, length}, max_bytes), {"head", "query", "key"}};
  PositionPart slopes{"slopes", Tensor<float>({heads}), {"head"}};
  const std::vector<double> slope = alibi_slopes(heads);
  for (Index head = 0; head < heads; ++head) {
    const double steep = slope[static_cast<std::size_t>(head)];
    slopes.values.data()[head] = static_cast<float>(steep);
    const Matrix<float> rows(bias.values.data() + head * length * length, length, length);
    for (Index i = 0; i < length; ++i) {
      for (Index j = 0; j < length; ++j) {
        // The diagonal stays 0, not -0.
        if (i != j) rows(i, j) = static_cast<float>(-steep * static_cast<double>(std::abs(i - j)));
      }
    }
  }
  return {"alibi",
          fmt::format("alibi: {} heads, {} positions", heads, length),
          {std::move(bias), std::move(slopes)},
          {{"heads", heads}}};
}

PositionTables learned_tables(const Hdf5Reader& file, const std::string& dataset, Index length,
                              Index max_bytes) {
  const DatasetInfo info = file.info(dataset);
  if (info.shape.size() != 2) {
    throw DataError(fmt::format("{}: {} wanted a table (positions, features), its shape is {}",
                                file.name(), escaped(dataset), shape_text(info.shape)));
  }
  if (info.shape[0] == 0 || info.shape[1] == 0) {
    throw DataError(fmt::format("{}: {} of shape {} holds no positions", file.name(),
                                escaped(dataset), shape_text(info.shape)));
  }
  const Index rows = length == 0 ? info.shape[0] : length;
  if (rows > info.shape[0]) {
    throw DataError(fmt::format("{}: {} positions are wanted, {} has {}", file.name(), rows,
                                escaped(dataset), info.shape[0]));
  }
  PositionPart table{"table", zeros({rows, info.shape[1]}, max_bytes), {"position", "feature"}};
  file.read_rows(dataset, 0, rows, table.values.data());
  return {"learned",
          fmt::format("learned positions: {} x {}", rows, info.shape[1]),
          {std::move(table)},
          {{"dim", info.shape[1]}}};
}

void write_position_tables(Hdf5Writer& writer, const PositionTables& tables) {
  std::vector<std::string> scales;
  for (const PositionPart& part : tables.parts) {
    const std::string path = fmt::format("/{}", part.name);
    writer.dataset(path, part.values);
    for (std::size_t axis = 0; axis < part.axes.size(); ++axis) {
      const Index extent = part.values.shape[axis];
      const std::string scale = fmt::format("/{}s", part.axes[axis]);
      if (std::find(scales.begin(), scales.end(), scale) == scales.end()) {
        std::vector<std::int32_t> places(static_cast<std::size_t>(extent));
        for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int32_t>(i);
        writer.dataset(scale, Shape{extent}, places.data());
        scales.push_back(scale);
      }
      writer.scale(path, static_cast<Index>(axis), scale, part.axes[axis]);
    }
  }
  writer.attribute("/", "kind", tables.kind);
  for (const auto& attribute : tables.attributes) {
    std::visit([&](const auto& value) { writer.attribute("/", attribute.first, value); },
               attribute.second);
  }
}

}  // namespace attn
