#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "ops/positions.h"

namespace attn {

/// Rotary positions of one model (see ops/positions.h): the table of angles grows as longer
/// sequences come, and is shared by all attentions and threads. A position's angles do not
/// depend on the table's length, nor on the sequence's: of a scaling whose frequencies do (see
/// rope_scaling_limit) only the positions up to its limit are turned, beyond is a ShapeError.
template <class T>
class Rotary {
 public:
  Rotary(Index head_dim, double base, RopePairs pairs, const RopeScaling& scaling = {});

  /// Turns x (rows, heads * head_dim), in place; row r stands at position pos0 + r.
  void rotate(Index pos0, Matrix<T> x) const;
  /// The inverse turn, for gradients.
  void rotate_back(Index pos0, Matrix<T> x) const;

 private:
  std::shared_ptr<const RopeTable<T>> table(Index positions) const;

  Index head_dim_;
  RopePairs pairs_;
  RopeFrequencies frequencies_;
  std::optional<Index> limit_;
  mutable std::mutex guard_;
  mutable std::shared_ptr<const RopeTable<T>> table_;
};

}  // namespace attn
