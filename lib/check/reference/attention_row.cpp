#include "check/reference/attention_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/reference/score_terms.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Final scores of the keys that are seen, minus infinity elsewhere.
void fill_scores(const AttentionProblem& problem, Index b, Index h, Index i,
                 std::vector<double>& scores) {
  const Sight sight = sight_of(problem, b, i);
  const double cap = problem.rules.softcap;
  std::fill(scores.begin(), scores.end(), -kInfinity);
  for (Index j = sight.first; j < sight.end; ++j) {
    if (!mask_allows(problem, b, h, i, j)) continue;
    scores[static_cast<std::size_t>(j)] = capped(raw_score(problem, b, h, i, j), cap) +
                                          score_bias(problem, b, h, i, j, sight.position);
  }
}

}  // namespace

void attention_row(const AttentionProblem& problem, Index b, Index h, Index i, AttentionRow& row) {
  const auto keys = static_cast<std::size_t>(problem.kv_len());
  row.scores.resize(keys);
  row.weights.assign(keys, 0);
  row.out.assign(static_cast<std::size_t>(problem.value_dim()), 0);
  row.lse = -kInfinity;
  fill_scores(problem, b, h, i, row.scores);

  double top = -kInfinity;
  bool poisoned = false;
  Index seen = 0;
  for (double score : row.scores) {
    if (score == -kInfinity) continue;
    ++seen;
    top = std::max(top, score);
    poisoned = poisoned || std::isnan(score);
  }
  if (seen == 0) {
    if (problem.rules.fully_masked == FullyMasked::kNan) {
      std::fill(row.weights.begin(), row.weights.end(), kNan);
      std::fill(row.out.begin(), row.out.end(), kNan);
    }
    return;
  }
  if (poisoned) top = kNan;
  const double sink =
      problem.sinks.empty() ? -kInfinity : problem.sinks[static_cast<std::size_t>(h)];
  if (sink > top) top = sink;

  double sum = std::exp(sink - top);
  for (std::size_t j = 0; j < keys; ++j) {
    if (row.scores[j] == -kInfinity) continue;
    row.weights[j] = std::exp(row.scores[j] - top);
    sum += row.weights[j];
  }
  row.lse = top + std::log(sum);
  for (std::size_t j = 0; j < keys; ++j) {
    if (row.scores[j] == -kInfinity) continue;
    row.weights[j] /= sum;
    const double* value = problem.v_row(b, problem.kv_head_of(h), static_cast<Index>(j));
    for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] += row.weights[j] * value[c];
  }
}

}  // namespace attn
