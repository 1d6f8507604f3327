#include "sizing/size_grid_file.h"

#include <fmt/core.h>

#include <string>

#include "sizing/runtime.h"

namespace attn {
namespace {

// An axis of the grid: numbers or words.
struct Axis {
  std::string name;
  Index extent;
  std::string path() const { return fmt::format("/{}", name); }
};

}  // namespace

void write_size_grid(Hdf5Writer& writer, const SizeGrid& grid, const ShapeAxes& axes) {
  std::vector<Axis> scales;
  const auto numbers = [&](const char* name, const std::vector<Index>& values) {
    const auto extent = static_cast<Index>(values.size());
    scales.push_back({name, extent});
    writer.dataset(scales.back().path(), Shape{extent}, values.data());
  };
  const auto words = [&](const char* name, const std::vector<std::string>& values) {
    scales.push_back({name, static_cast<Index>(values.size())});
    writer.labels(scales.back().path(), values);
  };
  if (!axes.layers.empty()) {
    numbers("layers", axes.layers);
    numbers("kv_heads", axes.kv_heads);
    numbers("head_dim", axes.head_dims);
  } else if (grid.shapes.size() > 1) {
    std::vector<std::string> names;
    for (const CacheSpec& spec : grid.shapes) names.push_back(spec.model);
    words("model", names);
  }
  numbers("tokens", grid.tokens);
  if (grid.encoder_tokens != std::vector<Index>{0}) numbers("encoder_tokens", grid.encoder_tokens);
  numbers("batch", grid.batches);
  std::vector<std::string> types;
  for (const TypePair& pair : grid.types) types.push_back(pair.name());
  words("cache_dtype", types);
  if (grid.ranks != std::vector<Index>{1}) numbers("tensor_parallel", grid.ranks);

  Shape shape;
  for (const Axis& axis : scales) shape.push_back(axis.extent);
  std::vector<KvBytes> rows;
  for (Index i = 0; i < grid.size(); ++i) rows.push_back(grid.row(i).bytes);
  const auto write = [&](const std::string& path, Index KvBytes::*field) {
    std::vector<Index> values;
    values.reserve(rows.size());
    for (const KvBytes& bytes : rows) values.push_back(bytes.*field);
    writer.dataset(path, shape, values.data());
    for (std::size_t i = 0; i < scales.size(); ++i) {
      writer.scale(path, static_cast<Index>(i), scales[i].path(), scales[i].name);
    }
    writer.attribute(path, "units", "bytes");
  };
  write("/bytes", &KvBytes::total);
  write("/k_bytes", &KvBytes::keys);
  write("/v_bytes", &KvBytes::values);
  write("/state_bytes", &KvBytes::state);
  write("/rank_bytes", &KvBytes::rank);
  writer.attribute("/", "runtime", runtime_name(grid.runtime.kind));
  if (grid.shapes.size() == 1 && !grid.shapes.front().model.empty()) {
    writer.attribute("/", "model", grid.shapes.front().model);
  }
}

}  // namespace attn
