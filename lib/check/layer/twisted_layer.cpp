#include "check/layer/twisted_layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/layer/layer_reference.h"

namespace attn {

namespace {

// (batch, rows, heads * features) to (batch, heads, rows, features).
Tensor<double> cut(const Tensor<double>& joined, Index heads, HeadCut how) {
  if (how == HeadCut::kHeads) return split_heads(joined, heads);
  const Index rows = joined.dim(1);
  const Index features = joined.dim(2) / heads;
  Tensor<double> split({joined.dim(0), heads, rows, features});
  if (how == HeadCut::kNoTranspose) {
    split.values = joined.values;
    return split;
  }
  for (Index b = 0; b < joined.dim(0); ++b) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < rows; ++i) {
        for (Index c = 0; c < features; ++c) {
          split.data()[((b * heads + h) * rows + i) * features + c] =
              joined.data()[(b * rows + i) * heads * features + c * heads + h];
        }
      }
    }
  }
  return split;
}

Tensor<double> join(const Tensor<double>& split, HeadCut how) {
  if (how == HeadCut::kHeads) return join_heads(split);
  const Index heads = split.dim(1);
  const Index rows = split.dim(2);
  const Index features = split.dim(3);
  Tensor<double> joined({split.dim(0), rows, heads * features});
  if (how == HeadCut::kNoTranspose) {
    joined.values = split.values;
    return joined;
  }
  for (Index b = 0; b < split.dim(0); ++b) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < rows; ++i) {
        for (Index c = 0; c < features; ++c) {
          joined.data()[(b * rows + i) * heads * features + c * heads + h] =
              split.data()[((b * heads + h) * rows + i) * features + c];
        }
      }
    }
  }
  return joined;
}

// Feature c has the angle of one convention and the partner of the other.
void mixed_rotation(const LayerRope& rope, Tensor<double>& split) {
  const Index rows = split.dim(2);
  const Index features = split.dim(3);
  const auto half = static_cast<Index>(rope.inv_freq.size());
  const bool halves = rope.pairs == RopePairs::kHalves;
  for (Index row = 0; row < split.dim(0) * split.dim(1) * rows; ++row) {
    double* head = split.data() + row * features;
    const auto position = static_cast<double>(rope.pos0 + row % rows);
    const auto angle = [&](Index feature) {
      const Index pair = halves ? feature / 2 : feature % half;
      return position * rope.inv_freq[static_cast<std::size_t>(pair)];
    };
    for (Index i = 0; i < half; ++i) {
      const Index at_a = halves ? i : 2 * i;
      const Index at_b = halves ? i + half : 2 * i + 1;
      const double a = head[at_a];
      const double b = head[at_b];
      head[at_a] = (a * std::cos(angle(at_a)) - b * std::sin(angle(at_a))) * rope.attention_factor;
      head[at_b] = (b * std::cos(angle(at_b)) + a * std::sin(angle(at_b))) * rope.attention_factor;
    }
  }
}

void rotate(const std::optional<RopeTwist>& rope, Tensor<double>& split) {
  if (!rope) return;
  for (int n = 0; n < rope->times; ++n) {
    if (rope->mixed) {
      mixed_rotation(rope->rope, split);
    } else {
      reference_rotation(rope->rope, split, rope->direction);
    }
  }
}

void add_bias(const std::vector<double>& bias, Tensor<double>& split) {
  if (bias.empty()) return;
  const Index rows = split.dim(2);
  const Index features = split.dim(3);
  for (Index row = 0; row < split.size() / features; ++row) {
    const Index head = row / rows % split.dim(1);
    for (Index c = 0; c < features; ++c) {
      split.data()[row * features + c] += bias[static_cast<std::size_t>(head * features + c)];
    }
  }
}

void add_x(const Tensor<double>& x, Tensor<double>& output) {
  if (x.shape != output.shape) return;
  for (std::size_t n = 0; n < x.values.size(); ++n) output.values[n] += x.values[n];
}

}  // namespace

LayerSteps twisted_layer(const LayerProblem& problem, const LayerTwist& twist,
                         const LayerSteps& given, int threads) {
  std::optional<RopeTwist> q_rope = twist.q_rope;
  std::optional<RopeTwist> k_rope = twist.k_rope;
  if (!twist.own_ropes && problem.rope) {
    q_rope = RopeTwist{*problem.rope};
    k_rope = q_rope;
  }
  const auto projected = [&](const Tensor<double>& x, Projection projection, Index heads,
                             const std::optional<RopeTwist>& rope, Tensor<double>* before) {
    std::vector<double> late;
    if (twist.bias_after_rope && rope) late.swap(projection.bias);
    Tensor<double> split = cut(reference_projection(x, projection, threads), heads, twist.split);
    if (before != nullptr) *before = split;
    rotate(rope, split);
    add_bias(late, split);
    return split;
  };
  LayerSteps steps;
  steps[LayerStep::kQ] =
      projected(problem.x, problem.q_proj, problem.heads, q_rope, &steps.q_projected);
  steps[LayerStep::kK] =
      projected(problem.source(), problem.k_proj, problem.kv_heads, k_rope, &steps.k_projected);
  steps[LayerStep::kV] =
      projected(problem.source(), problem.v_proj, problem.kv_heads, twist.v_rope, nullptr);
  const auto taken = [&](LayerStep step) { return given.has(step) ? given[step] : steps[step]; };
  const AttentionProblem attention =
      attention_between(problem, taken(LayerStep::kQ), taken(LayerStep::kK), taken(LayerStep::kV));
  AttentionAnswer answer = twist.attention ? twist.attention->answer(attention, threads)
                                           : reference_attention(attention, true, threads);
  steps[LayerStep::kScores] = std::move(answer.scores);
  steps[LayerStep::kWeights] = std::move(answer.weights);
  steps[LayerStep::kHeads] = join(answer.out, twist.join);
  const Tensor<double> heads = taken(LayerStep::kHeads);
  steps[LayerStep::kOutput] = problem.out_proj && !twist.no_out_proj
                                  ? reference_projection(heads, *problem.out_proj, threads)
                                  : heads;
  if (twist.residual) add_x(problem.x, steps[LayerStep::kOutput]);
  return steps;
}

}  // namespace attn
