#include "sizing/size_grid.h"

#include <fmt/core.h>

#include <array>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr Index kMostRows = 1'000'000;

void require_few(std::initializer_list<std::size_t> axes) {
  std::vector<Index> extents;
  for (const std::size_t axis : axes) extents.push_back(static_cast<Index>(axis));
  const auto count = checked_product(extents);
  if (count && *count <= kMostRows) return;
  throw UsageError(
      fmt::format("the lists and ranges give more than {} combinations", grouped(kMostRows)));
}

}  // namespace

std::vector<CacheSpec> shapes_of(const ShapeAxes& axes) {
  require_few({axes.layers.size(), axes.kv_heads.size(), axes.head_dims.size()});
  std::vector<CacheSpec> shapes;
  for (const Index layers : axes.layers) {
    for (const Index kv_heads : axes.kv_heads) {
      for (const Index head_dim : axes.head_dims) {
        shapes.push_back(uniform_spec(layers, kv_heads, head_dim));
      }
    }
  }
  return shapes;
}

void fill_rows(SizeGrid& grid) {
  require_few({grid.shapes.size(), grid.tokens.size(), grid.batches.size(), grid.types.size()});
  grid.rows.clear();
  for (std::size_t shape = 0; shape < grid.shapes.size(); ++shape) {
    const CacheSpec& spec = grid.shapes[shape];
    for (const Index tokens : grid.tokens) {
      for (const Index batch : grid.batches) {
        for (const CacheType* type : grid.types) {
          grid.rows.push_back({static_cast<Index>(shape), tokens, batch, type,
                               kv_bytes(spec, tokens, batch, *type),
                               kv_bytes(spec, 1, 1, *type).total});
        }
      }
    }
  }
}

}  // namespace attn
