#include "check/layer/layer_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/reference/score_terms.h"
#include "core/parallel.h"

namespace attn {

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// Weights of scores that somebody gave: hidden ones are minus infinity, or so low that nothing is
// left of them.
Tensor<double> weights_of(const AttentionProblem& problem, const Tensor<double>& scores) {
  Tensor<double> weights(scores.shape);
  const Index keys = scores.dim(3);
  for (Index row = 0; row < scores.size() / std::max<Index>(1, keys); ++row) {
    const double* from = scores.data() + row * keys;
    double* to = weights.data() + row * keys;
    const Index head = row / scores.dim(2) % scores.dim(1);
    const double sink =
        problem.sinks.empty() ? kHidden : problem.sinks[static_cast<std::size_t>(head)];
    const double top = std::max(*std::max_element(from, from + keys), sink);
    if (top == kHidden) continue;
    double sum = std::exp(sink - top);
    for (Index j = 0; j < keys; ++j) sum += to[j] = std::exp(from[j] - top);
    for (Index j = 0; j < keys; ++j) to[j] /= sum;
  }
  return weights;
}

// Values mixed by weights that somebody gave; a weight of 0 reads nothing.
Tensor<double> mixed(const AttentionProblem& problem, const Tensor<double>& weights) {
  Tensor<double> out({problem.batch(), problem.heads(), problem.q_len(), problem.value_dim()});
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index h = 0; h < problem.heads(); ++h) {
      for (Index i = 0; i < problem.q_len(); ++i) {
        const Index row = (b * problem.heads() + h) * problem.q_len() + i;
        for (Index j = 0; j < problem.kv_len(); ++j) {
          const double weight = weights.data()[row * problem.kv_len() + j];
          if (weight == 0) continue;
          const double* value = problem.v_row(b, problem.kv_head_of(h), j);
          for (Index c = 0; c < problem.value_dim(); ++c) {
            out.data()[row * problem.value_dim() + c] += weight * value[c];
          }
        }
      }
    }
  }
  return out;
}

}  // namespace

Tensor<double> reference_projection(const Tensor<double>& x, const Projection& projection,
                                    int threads) {
  Tensor<double> y({x.dim(0), x.dim(1), projection.out()});
  const Index in = projection.in();
  const Index out = projection.out();
  constexpr Index kRowsPerTask = 16;
  const Index rows = x.dim(0) * x.dim(1);
  parallel_for((rows + kRowsPerTask - 1) / kRowsPerTask, threads, [&](Index task, int) {
    const Index end = std::min(rows, (task + 1) * kRowsPerTask);
    for (Index row = task * kRowsPerTask; row < end; ++row) {
      const double* from = x.data() + row * in;
      for (Index o = 0; o < out; ++o) {
        const double* weight = projection.weight.data() + o * in;
        const double bias =
            projection.bias.empty() ? 0 : projection.bias[static_cast<std::size_t>(o)];
        y.data()[row * out + o] = dot(from, weight, in) + bias;
      }
    }
  });
  return y;
}

Tensor<double> split_heads(const Tensor<double>& joined, Index heads) {
  const Index rows = joined.dim(1);
  const Index features = joined.dim(2) / heads;
  Tensor<double> split({joined.dim(0), heads, rows, features});
  for (Index b = 0; b < joined.dim(0); ++b) {
    for (Index i = 0; i < rows; ++i) {
      for (Index h = 0; h < heads; ++h) {
        std::copy_n(joined.data() + ((b * rows + i) * heads + h) * features, features,
                    split.data() + ((b * heads + h) * rows + i) * features);
      }
    }
  }
  return split;
}

Tensor<double> join_heads(const Tensor<double>& split) {
  const Index heads = split.dim(1);
  const Index rows = split.dim(2);
  const Index features = split.dim(3);
  Tensor<double> joined({split.dim(0), rows, heads * features});
  for (Index b = 0; b < split.dim(0); ++b) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < rows; ++i) {
        std::copy_n(split.data() + ((b * heads + h) * rows + i) * features, features,
                    joined.data() + ((b * rows + i) * heads + h) * features);
      }
    }
  }
  return joined;
}

void reference_rotation(const LayerRope& rope, Tensor<double>& split, double direction) {
  const Index rows = split.dim(2);
  const Index features = split.dim(3);
  const auto half = static_cast<Index>(rope.inv_freq.size());
  for (Index row = 0; row < split.dim(0) * split.dim(1) * rows; ++row) {
    double* head = split.data() + row * features;
    const auto position = static_cast<double>(rope.pos0 + row % rows);
    for (Index i = 0; i < half; ++i) {
      const double angle = position * rope.inv_freq[static_cast<std::size_t>(i)];
      const double cosine = std::cos(angle) * rope.attention_factor;
      const double sine = std::sin(angle) * rope.attention_factor * direction;
      const bool halves = rope.pairs == RopePairs::kHalves;
      double& a = head[halves ? i : 2 * i];
      double& b = head[halves ? i + half : 2 * i + 1];
      const double turned = a * cosine - b * sine;
      b = a * sine + b * cosine;
      a = turned;
    }
  }
}

AttentionProblem attention_between(const LayerProblem& problem, Tensor<double> q, Tensor<double> k,
                                   Tensor<double> v) {
  AttentionProblem attention = problem.attention;
  attention.q = std::move(q);
  attention.k = std::move(k);
  attention.v = std::move(v);
  return attention;
}

LayerSteps reference_layer(const LayerProblem& problem, const LayerSteps& given, int threads) {
  LayerSteps steps;
  const auto projected = [&](const Tensor<double>& x, const Projection& projection, Index heads) {
    return split_heads(reference_projection(x, projection, threads), heads);
  };
  steps[LayerStep::kQ] = projected(problem.x, problem.q_proj, problem.heads);
  steps[LayerStep::kK] = projected(problem.source(), problem.k_proj, problem.kv_heads);
  steps[LayerStep::kV] = projected(problem.source(), problem.v_proj, problem.kv_heads);
  if (problem.rope) {
    reference_rotation(*problem.rope, steps[LayerStep::kQ]);
    reference_rotation(*problem.rope, steps[LayerStep::kK]);
  }
  const auto taken = [&](LayerStep step) { return given.has(step) ? given[step] : steps[step]; };
  const AttentionProblem attention =
      attention_between(problem, taken(LayerStep::kQ), taken(LayerStep::kK), taken(LayerStep::kV));
  AttentionAnswer answer = reference_attention(attention, true, threads);
  if (given.has(LayerStep::kScores))
    answer.weights = weights_of(attention, given[LayerStep::kScores]);
  if (given.has(LayerStep::kWeights)) {
    answer.out = mixed(attention, given[LayerStep::kWeights]);
  } else if (given.has(LayerStep::kScores)) {
    answer.out = mixed(attention, answer.weights);
  }
  steps[LayerStep::kScores] = std::move(answer.scores);
  steps[LayerStep::kWeights] = std::move(answer.weights);
  steps[LayerStep::kHeads] = join_heads(answer.out);
  const Tensor<double> heads = taken(LayerStep::kHeads);
  steps[LayerStep::kOutput] =
      problem.out_proj ? reference_projection(heads, *problem.out_proj, threads) : heads;
  return steps;
}

}  // namespace attn
