#pragma once

#include <vector>

#include "attn-check/options.h"
#include "check/reference/attention_problem.h"

namespace attn {

/// The query heads and rows that a report is about.
struct Selection {
  std::vector<Index> heads;
  std::vector<Index> rows;  // ascending

  Index first_row() const { return rows.empty() ? 0 : rows.front(); }
  /// From the first to the last.
  Index row_run() const { return rows.empty() ? 0 : rows.back() - rows.front() + 1; }
};

/// What --head and --rows name; without them the first `heads` heads (all: 0) and the first rows
/// that fit into memory. UsageError for what is not there.
Selection select(const AttentionProblem& problem, const CheckOptions& options, Index heads);

}  // namespace attn
