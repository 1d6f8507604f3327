#pragma once

#include <string>
#include <vector>

#include "core/index.h"
#include "sizing/cache_spec.h"
#include "sizing/cache_type.h"
#include "sizing/kv_bytes.h"

namespace attn {

/// Shapes to be asked about by numbers: all combinations of three axes.
struct ShapeAxes {
  std::vector<Index> layers;
  std::vector<Index> kv_heads;
  std::vector<Index> head_dims;
};

/// The types of keys and values together.
struct TypePair {
  CacheType keys;
  CacheType values;
  /// "f16", or "q8_0/q4_0" where they differ.
  std::string name() const;
};

/// One answer.
struct SizeRow {
  Index shape = 0;  ///< which of the grid's shapes
  Index tokens = 0;
  Index encoder_tokens = 0;
  Index batch = 0;
  Index types = 0;  ///< which of the grid's pairs of types
  Index ranks = 1;
  KvBytes bytes;
  Index token_bytes = 0;  ///< what one more token costs one sequence while no window is full
};

/// All combinations of its axes, in row-major order: shape, tokens, encoder tokens, batch, types,
/// ranks, the last changing fastest. Rows are computed when asked for, so that a long sweep takes
/// no memory.
struct SizeGrid {
  std::vector<CacheSpec> shapes;
  std::vector<Index> tokens;
  std::vector<Index> encoder_tokens = {0};
  std::vector<Index> batches = {1};
  std::vector<TypePair> types;
  std::vector<Index> ranks = {1};
  Runtime runtime;

  /// How many rows; UsageError for more than a hundred million.
  Index size() const;
  CacheQuestion question(Index row) const;
  SizeRow row(Index row) const;
  /// The same question of the same shape with nothing rounded.
  KvBytes ideal(const SizeRow& row) const;
  /// Throws what any of the rows would throw, without computing all of them: bytes grow with every
  /// length, so the corners of each combination of the other axes speak for the rest. Fills what
  /// row() needs; call it before the first.
  void check();

 private:
  SizeRow place(Index row) const;
  std::vector<CacheSpec> merged_;   // equal layers together: the same bytes, sooner
  std::vector<Index> token_bytes_;  // by shape, types
};

/// All combinations of the axes, layers slowest.
std::vector<CacheSpec> shapes_of(const ShapeAxes& axes);

/// The model with equal layers together, whatever their order.
CacheSpec merged_layers(const CacheSpec& spec);

/// Bytes that one more token costs one sequence while no window is full; a residual of full
/// precision is left out.
Index token_bytes(const CacheSpec& spec, const TypePair& types);

}  // namespace attn
