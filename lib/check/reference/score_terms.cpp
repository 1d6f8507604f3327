#include "check/reference/score_terms.h"

#include <cmath>

namespace attn {

double dot(const double* a, const double* b, Index count) {
  // Four sums side by side: one would wait for each of its additions.
  double sums[4] = {};
  Index c = 0;
  for (; c + 4 <= count; c += 4) {
    for (Index lane = 0; lane < 4; ++lane) sums[lane] += a[c + lane] * b[c + lane];
  }
  for (; c < count; ++c) sums[0] += a[c] * b[c];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double capped(double score, double cap) {
  return cap > 0 ? cap * std::tanh(score / cap) : score;
}

double raw_score(const AttentionProblem& problem, Index b, Index h, Index i, Index j) {
  const double* query = problem.q_row(b, h, i);
  const double* key = problem.k_row(b, problem.kv_head_of(h), j);
  return dot(query, key, problem.head_dim()) * problem.scale();
}

double score_bias(const AttentionProblem& problem, Index b, Index h, Index i, Index j,
                  Index position) {
  double sum = 0;
  if (!problem.alibi_slopes.empty()) {
    sum -= problem.alibi_slopes[static_cast<std::size_t>(h)] *
           static_cast<double>(std::abs(position - j));
  }
  if (problem.mask && problem.rules.mask_type == MaskType::kAdditive) {
    sum += problem.mask_at(b, h, i, j);
  }
  return sum;
}

}  // namespace attn
