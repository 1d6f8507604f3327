#pragma once

#include "model/position_tables.h"

namespace attn {

/// How alike positions are.
struct PositionSimilarity {
  Tensor<double> products;  ///< (positions, positions)
  /// By how much products of pairs that are equally far apart differ, at most; as a part of the
  /// product of a position with itself, or of |q| |k|. 0 where only the distance counts.
  double deviation = 0;
};

// Both take what the matrices may need at most, in bytes, and throw DataError before they are made.

/// The dot products between the rows of a table, as its numbers are stored.
PositionSimilarity table_similarity(const PositionTables& tables, Index max_bytes);

/// Of rope: the score of a query of ones at one position with a key of ones at another, by the
/// table's cosines and sines as stored, divided by |q| |k|. The deviation is also measured for
/// queries and keys drawn at random, where |p - r| does not decide but p - r does.
PositionSimilarity rope_similarity(const PositionTables& tables, RopePairs pairs, Index max_bytes);

}  // namespace attn
