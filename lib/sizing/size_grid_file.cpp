#include "sizing/size_grid_file.h"

#include <fmt/core.h>

#include <string>

namespace attn {
namespace {

struct Axis {
  std::string name;
  const std::vector<Index>* values;
  std::string path() const { return fmt::format("/{}", name); }
};

}  // namespace

void write_size_grid(Hdf5Writer& writer, const SizeGrid& grid, const ShapeAxes& axes) {
  std::vector<Axis> numbers;
  if (!axes.layers.empty()) {
    numbers = {
        {"layers", &axes.layers}, {"kv_heads", &axes.kv_heads}, {"head_dim", &axes.head_dims}};
  }
  numbers.push_back({"tokens", &grid.tokens});
  numbers.push_back({"batch", &grid.batches});
  Shape shape;
  for (const Axis& axis : numbers) {
    const auto extent = static_cast<Index>(axis.values->size());
    shape.push_back(extent);
    writer.dataset(axis.path(), Shape{extent}, axis.values->data());
  }
  std::vector<std::string> types;
  types.reserve(grid.types.size());
  for (const CacheType* type : grid.types) types.push_back(type->name);
  writer.labels("/cache_dtype", types);
  shape.push_back(static_cast<Index>(types.size()));

  const auto write = [&](const std::string& path, Index KvBytes::*field) {
    std::vector<Index> values;
    values.reserve(grid.rows.size());
    for (const SizeRow& row : grid.rows) values.push_back(row.bytes.*field);
    writer.dataset(path, shape, values.data());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      writer.scale(path, static_cast<Index>(i), numbers[i].path(), numbers[i].name);
    }
    writer.scale(path, static_cast<Index>(numbers.size()), "/cache_dtype", "cache_dtype");
    writer.attribute(path, "units", "bytes");
  };
  write("/bytes", &KvBytes::total);
  write("/k_bytes", &KvBytes::keys);
  write("/v_bytes", &KvBytes::values);
  const std::string& model = grid.shapes.front().model;
  if (!model.empty()) writer.attribute("/", "model", model);
}

}  // namespace attn
