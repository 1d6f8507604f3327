#pragma once

#include <vector>

#include "check/reference/attention_problem.h"

namespace attn {

/// Some rows of one query head, as a cut problem of one sequence, one head and all keys.
AttentionProblem head_rows(const AttentionProblem& whole, Index b, Index head, Index first_row,
                           Index rows);

/// Weights of chosen rows of chosen query heads, by the reference: (sequences, heads chosen, rows
/// chosen, kv_len). Needs no values.
Tensor<double> chosen_weights(const AttentionProblem& problem, const std::vector<Index>& heads,
                              const std::vector<Index>& rows, int threads);

/// What becomes of some rows of one head, step by step.
struct HeadSteps {
  AttentionProblem problem;  // the cut
  Tensor<double> products;   // q k^T, (rows, kv_len); NaN where padding or another sequence is
  Tensor<double> scaled;     // times the scale
  Tensor<double> capped;     // the softcap on them; rank 0 where there is none
  Tensor<double> masked;     // bias added, hidden keys minus infinity
  Tensor<double> weights;
  std::vector<double> entropy;  // (rows) of the weights, in nats
  Tensor<double> out;           // (rows, value_dim)
};
HeadSteps head_steps(const AttentionProblem& whole, Index b, Index head, Index first_row,
                     Index rows, int threads);

}  // namespace attn
