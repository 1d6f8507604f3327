#pragma once

#include <memory>
#include <mutex>

#include "ops/positions.h"

namespace attn {

/// Rotary positions of one model (see ops/positions.h): the table of angles grows as longer
/// sequences come, and is shared by all attentions and threads. A position's angles do not
/// depend on the table's length.
template <class T>
class Rotary {
 public:
  Rotary(Index head_dim, double base, RopePairs pairs)
      : head_dim_(head_dim), base_(base), pairs_(pairs) {}

  /// Turns x (rows, heads * head_dim), in place; row r stands at position pos0 + r.
  void rotate(Index pos0, Matrix<T> x) const;
  /// The inverse turn, for gradients.
  void rotate_back(Index pos0, Matrix<T> x) const;

 private:
  std::shared_ptr<const RopeTable<T>> table(Index positions) const;

  Index head_dim_;
  double base_;
  RopePairs pairs_;
  mutable std::mutex guard_;
  mutable std::shared_ptr<const RopeTable<T>> table_;
};

}  // namespace attn
