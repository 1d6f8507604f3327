#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/tensor.h"
#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"
#include "ops/positions.h"

namespace attn {

/// One tensor that describes positions.
struct PositionPart {
  std::string name;  ///< its dataset: "table", "cos", "slopes"
  Tensor<float> values;
  std::vector<std::string> axes;          ///< what each axis counts: "position", "feature"
  std::vector<std::string> columns = {};  ///< names along the last axis, where they have any
};

/// Everything one kind of positions consists of, and what it was made with.
struct PositionTables {
  std::string kind;   ///< sinusoidal, learned, rope, alibi
  std::string title;  ///< one line for people
  std::vector<PositionPart> parts;
  std::vector<std::pair<std::string, std::variant<Index, double, std::string>>> attributes;
};

// All of these take what the tensors may need at most, in bytes, and throw DataError ("needs 233
// TiB") before they are made.

/// /table (length, dim): sines and cosines in turn, as sinusoidal_positions.
PositionTables sinusoidal_tables(Index length, Index dim, double base, Index max_bytes);

/// /cos and /sin (length, dim / 2) of the angles, /inv_freq (dim / 2); dim is even.
PositionTables rope_tables(Index length, Index dim, double base, RopePairs pairs, Index max_bytes);

/// /slopes (heads), /bias (heads, length, length) = -slope * |query - key|.
PositionTables alibi_tables(Index length, Index heads, Index max_bytes);

/// /table: the first `length` rows (0: all) of a checkpoint's learned table at `dataset`. DataError
/// where there is none of that shape.
PositionTables learned_tables(const Hdf5Reader& file, const std::string& dataset, Index length,
                              Index max_bytes);

/// Datasets, attributes and a scale for every axis (/positions, /features, /heads ...).
void write_position_tables(Hdf5Writer& writer, const PositionTables& tables);

}  // namespace attn
