#pragma once

#include <string>
#include <vector>

#include "core/index.h"
#include "sizing/cache_spec.h"
#include "sizing/cache_type.h"
#include "sizing/kv_bytes.h"

namespace attn {

/// Shapes to be asked about: one specification, or all combinations of three axes.
struct ShapeAxes {
  std::vector<Index> layers;
  std::vector<Index> kv_heads;
  std::vector<Index> head_dims;
};

/// One answer.
struct SizeRow {
  Index shape = 0;  ///< which of the grid's shapes
  Index tokens = 0;
  Index batch = 0;
  const CacheType* type = nullptr;
  KvBytes bytes;
  Index token_bytes = 0;  ///< what one token costs one sequence in all layers
};

/// The sizes of all combinations, in row-major order: shape, tokens, batch, type, the last
/// changing fastest.
struct SizeGrid {
  std::vector<CacheSpec> shapes;
  std::vector<Index> tokens;
  std::vector<Index> batches;
  std::vector<const CacheType*> types;
  std::vector<SizeRow> rows;
};

/// All combinations of the axes, layers slowest.
std::vector<CacheSpec> shapes_of(const ShapeAxes& axes);

/// Computes the rows. Throws UsageError as kv_bytes does, and for more than a million rows.
void fill_rows(SizeGrid& grid);

}  // namespace attn
