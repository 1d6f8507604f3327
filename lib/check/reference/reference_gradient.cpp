#include "check/reference/reference_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "check/reference/row_product.h"
#include "core/error.h"
#include "core/parallel.h"

namespace attn {

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

void add_scaled(double factor, const double* from, Index count, double* to) {
  for (Index c = 0; c < count; ++c) to[c] += factor * from[c];
}

// The slope of softcap * tanh(raw / softcap).
double cap_slope(const AttentionProblem& problem, const double* query, const double* key) {
  const double cap = problem.rules.softcap;
  if (cap == 0) return 1;
  const double raw = product(query, key, problem.head_dim()) * problem.scale();
  const double bent = std::tanh(raw / cap);
  return 1 - bent * bent;
}

// The keys that one query sees, with their weights.
struct SeenKeys {
  std::vector<Index> keys;
  std::vector<double> weights;
  double sink_weight = 0;
};

void fill(const AttentionProblem& problem, Index b, Index h, Index i, SeenKeys& seen) {
  seen.keys.clear();
  seen.weights.clear();
  const Sight sight = sight_of(problem, b, i);
  const double cap = problem.rules.softcap;
  double top = kHidden;
  for (Index j = sight.first; j < sight.end; ++j) {
    if (!mask_allows(problem, b, h, i, j)) continue;
    const double* key = problem.k_row(b, problem.kv_head_of(h), j);
    double score = product(problem.q_row(b, h, i), key, problem.head_dim()) * problem.scale();
    if (cap > 0) score = cap * std::tanh(score / cap);
    if (!problem.alibi_slopes.empty()) {
      score -= problem.alibi_slopes[static_cast<std::size_t>(h)] *
               static_cast<double>(std::abs(sight.position - j));
    }
    if (problem.mask && problem.rules.mask_type == MaskType::kAdditive) {
      score += problem.mask_at(b, h, i, j);
    }
    seen.keys.push_back(j);
    seen.weights.push_back(score);
    top = std::max(top, score);
  }
  const double sink = problem.sinks.empty() ? kHidden : problem.sinks[static_cast<std::size_t>(h)];
  top = std::max(top, sink);
  seen.sink_weight = std::exp(sink - top);
  double sum = seen.sink_weight;
  for (double& weight : seen.weights) {
    weight = std::exp(weight - top);
    sum += weight;
  }
  for (double& weight : seen.weights) weight /= sum;
  seen.sink_weight /= sum;
}

// One query's part in the gradients of its sequence and its group's key-value head.
void add_row(const AttentionProblem& problem, const double* d_out, Index b, Index h, Index i,
             SeenKeys& seen, AttentionGradient& gradient) {
  fill(problem, b, h, i, seen);
  if (seen.keys.empty()) return;
  const Index kv_head = problem.kv_head_of(h);
  const Index dim = problem.head_dim();
  const Index value_dim = problem.value_dim();
  const Index first_key = (b * problem.kv_heads() + kv_head) * problem.kv_len();
  double delta = 0;
  for (std::size_t n = 0; n < seen.keys.size(); ++n) {
    const Index j = seen.keys[n];
    delta += seen.weights[n] * product(d_out, problem.v_row(b, kv_head, j), value_dim);
    add_scaled(seen.weights[n], d_out, value_dim,
               gradient.d_v.data() + (first_key + j) * value_dim);
  }
  const double* query = problem.q_row(b, h, i);
  double* d_query = gradient.d_q.data() + (query - problem.q.data());
  for (std::size_t n = 0; n < seen.keys.size(); ++n) {
    const Index j = seen.keys[n];
    const double* key = problem.k_row(b, kv_head, j);
    const double d_weight = product(d_out, problem.v_row(b, kv_head, j), value_dim);
    const double d_score = seen.weights[n] * (d_weight - delta) * cap_slope(problem, query, key);
    add_scaled(problem.scale() * d_score, key, dim, d_query);
    add_scaled(problem.scale() * d_score, query, dim, gradient.d_k.data() + (first_key + j) * dim);
  }
  if (problem.sinks.empty()) return;
  gradient.d_sinks.values[static_cast<std::size_t>(b * problem.heads() + h)] -=
      seen.sink_weight * delta;
}

}  // namespace

AttentionGradient no_gradient(const AttentionProblem& problem) {
  AttentionGradient gradient;
  gradient.d_q = Tensor<double>(problem.q.shape);
  gradient.d_k = Tensor<double>(problem.k.shape);
  gradient.d_v = Tensor<double>(problem.v.shape);
  gradient.d_sinks = Tensor<double>({static_cast<Index>(problem.sinks.size())});
  return gradient;
}

AttentionGradient reference_gradient(const AttentionProblem& problem, const Tensor<double>& d_out,
                                     int threads) {
  const Shape out = {problem.batch(), problem.heads(), problem.q_len(), problem.value_dim()};
  require_shape(d_out.shape == out, "reference_gradient: d_out is not of the shape of out");
  AttentionGradient gradient = no_gradient(problem);
  // By sequence and head until all is summed: tasks share nothing.
  const Index sinks = gradient.d_sinks.size();
  gradient.d_sinks = Tensor<double>({problem.batch() * sinks});
  const Index group = problem.heads() / problem.kv_heads();
  parallel_for(problem.batch() * problem.kv_heads(), threads, [&](Index task, int) {
    const Index b = task / problem.kv_heads();
    const Index first_head = task % problem.kv_heads() * group;
    SeenKeys seen;
    for (Index h = first_head; h < first_head + group; ++h) {
      for (Index i = 0; i < problem.q_len(); ++i) {
        const Index at = (b * problem.heads() + h) * problem.q_len() + i;
        add_row(problem, d_out.data() + at * problem.value_dim(), b, h, i, seen, gradient);
      }
    }
  });
  Tensor<double> d_sinks({sinks});
  for (Index n = 0; n < gradient.d_sinks.size(); ++n) {
    d_sinks.data()[n % sinks] += gradient.d_sinks.data()[n];
  }
  gradient.d_sinks = std::move(d_sinks);
  return gradient;
}

}  // namespace attn
