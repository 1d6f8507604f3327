#pragma once

#include <vector>

#include "check/reference/attention_problem.h"

namespace attn {

/// One query's row of an answer.
struct AttentionRow {
  std::vector<double> scores;   // (kv_len); hidden keys minus infinity
  std::vector<double> weights;  // (kv_len)
  std::vector<double> out;      // (value_dim)
  double lse = 0;
};

/// One row by the definition that reference_attention follows, as plainly as it can be written:
/// mistaken rows are tried one at a time, most of them on few rows.
void attention_row(const AttentionProblem& problem, Index b, Index h, Index i, AttentionRow& row);

}  // namespace attn
