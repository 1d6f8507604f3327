#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/tensor.h"

namespace attn {

/// Where one head looks, on average over the rows that see anything.
struct HeadStats {
  Index sequence = 0;  // or block, as the maps' first axis says
  Index head = 0;
  Index rows = 0;       // that see anything
  double entropy = 0;   // of a row's weights, in nats
  double self = 0;      // weight on the key at the query's own position
  double previous = 0;  // on the one before it; over rows that have one
  double first = 0;     // on key 0
  double future = 0;    // on all keys after the query's own position
  /// Weight on the key after the last occurrence of the query's own token, over queries whose
  /// token has occurred before (Olsson et al. 2022); nothing where none has, or no tokens are
  /// known.
  std::optional<double> induction;
};

/// Key that a query stands at.
using PositionOf = std::function<Index(Index sequence, Index row)>;

/// Of each map of weights (sequence, head, query, key). `tokens` are one sequence's ids, as many as
/// keys, or empty.
std::vector<HeadStats> head_stats(const Tensor<double>& weights, const PositionOf& position,
                                  const std::vector<Index>& tokens);

}  // namespace attn
