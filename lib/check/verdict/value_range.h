#pragma once

#include <vector>

#include "check/reference/attention_problem.h"

namespace attn {

/// The least and the greatest of a run of one key-value head's values, feature by feature. Runs
/// that neighbour the last one, as those of a causal mask and of a window do, cost little.
class ValueRange {
 public:
  ValueRange(const AttentionProblem& problem, Index b, Index kv_head);

  /// Of keys first .. end - 1, at least one.
  void take(Index first, Index end);
  const std::vector<double>& least() const { return least_; }
  const std::vector<double>& most() const { return most_; }

 private:
  void start();
  void widen(const double* least, const double* most);
  void widen_by_keys(Index first, Index end);

  const AttentionProblem& problem_;
  const Index b_, kv_head_;
  const std::size_t features_;
  std::vector<double> block_least_, block_most_;  // (blocks of keys, features)
  std::vector<double> least_, most_;
  Index first_ = 0, end_ = 0;  // what they are of
};

}  // namespace attn
