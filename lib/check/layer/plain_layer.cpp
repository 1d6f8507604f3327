#include "check/layer/plain_layer.h"

#include <cmath>
#include <utility>

#include "core/parallel.h"

namespace attn {

namespace {

double rounded(double value, DType dtype) {
  if (dtype == DType::kF64) return value;
  const auto single = static_cast<float>(value);
  if (dtype == DType::kF16) return static_cast<double>(f16_to_float(float_to_f16(single)));
  if (dtype == DType::kBF16) return static_cast<double>(bf16_to_float(float_to_bf16(single)));
  return static_cast<double>(single);
}

// One running sum for the first order, eight side by side for the others.
template <class T>
Tensor<double> projection_in(const Tensor<double>& x, const Projection& projection, DType dtype,
                             PlainOrder order, int threads) {
  const std::vector<T> from(x.values.begin(), x.values.end());
  const std::vector<T> weight(projection.weight.values.begin(), projection.weight.values.end());
  const Index in = projection.in();
  const Index out = projection.out();
  const Index lanes = order == PlainOrder::kScoresScaled ? 1 : 8;
  Tensor<double> y({x.dim(0), x.dim(1), out});
  parallel_for(x.dim(0) * x.dim(1), threads, [&](Index row, int) {
    for (Index o = 0; o < out; ++o) {
      T sums[8] = {};
      const T* a = from.data() + row * in;
      const T* b = weight.data() + o * in;
      for (Index c = 0; c < in; ++c) sums[c % lanes] += a[c] * b[c];
      T sum = 0;
      for (T lane : sums) sum += lane;
      if (!projection.bias.empty()) {
        sum += static_cast<T>(projection.bias[static_cast<std::size_t>(o)]);
      }
      y.data()[row * out + o] = rounded(static_cast<double>(sum), dtype);
    }
  });
  return y;
}

Tensor<double> plain_projection(const Tensor<double>& x, const Projection& projection, DType dtype,
                                PlainOrder order, int threads) {
  return dtype == DType::kF64 ? projection_in<double>(x, projection, dtype, order, threads)
                              : projection_in<float>(x, projection, dtype, order, threads);
}

// cos and sin in the type, as tables hold them, from angles in float32 or float64.
void plain_rotation(const LayerRope& rope, DType dtype, PlainOrder order, Tensor<double>& split) {
  const Index rows = split.dim(2);
  const Index features = split.dim(3);
  const auto half = static_cast<Index>(rope.inv_freq.size());
  const bool single = dtype != DType::kF64 && order != PlainOrder::kTiled;
  const bool coarse = order == PlainOrder::kBothScaled;  // tables in 16 bits too
  for (Index row = 0; row < split.dim(0) * split.dim(1) * rows; ++row) {
    double* head = split.data() + row * features;
    const auto position = static_cast<double>(rope.pos0 + row % rows);
    for (Index i = 0; i < half; ++i) {
      const double frequency = rope.inv_freq[static_cast<std::size_t>(i)];
      const double angle =
          single ? static_cast<double>(static_cast<float>(position) * static_cast<float>(frequency))
                 : position * frequency;
      const DType table = coarse || dtype == DType::kF64 ? dtype : DType::kF32;
      const double cosine = rounded(std::cos(angle) * rope.attention_factor, table);
      const double sine = rounded(std::sin(angle) * rope.attention_factor, table);
      const bool halves = rope.pairs == RopePairs::kHalves;
      double& a = head[halves ? i : 2 * i];
      double& b = head[halves ? i + half : 2 * i + 1];
      const double turned = rounded(a * cosine - b * sine, dtype);
      b = rounded(a * sine + b * cosine, dtype);
      a = turned;
    }
  }
}

}  // namespace

LayerSteps plain_layer(const LayerProblem& problem, const LayerSteps& given, DType dtype,
                       PlainOrder order, bool round_scores, int threads) {
  LayerSteps steps;
  const auto projected = [&](const Tensor<double>& x, const Projection& projection, Index heads) {
    return split_heads(plain_projection(x, projection, dtype, order, threads), heads);
  };
  steps[LayerStep::kQ] = projected(problem.x, problem.q_proj, problem.heads);
  steps[LayerStep::kK] = projected(problem.source(), problem.k_proj, problem.kv_heads);
  steps[LayerStep::kV] = projected(problem.source(), problem.v_proj, problem.kv_heads);
  if (problem.rope) {
    plain_rotation(*problem.rope, dtype, order, steps[LayerStep::kQ]);
    plain_rotation(*problem.rope, dtype, order, steps[LayerStep::kK]);
  }
  const auto taken = [&](LayerStep step) { return given.has(step) ? given[step] : steps[step]; };
  const AttentionProblem attention =
      attention_between(problem, taken(LayerStep::kQ), taken(LayerStep::kK), taken(LayerStep::kV));
  AttentionAnswer answer = plain_attention(attention, dtype, order, round_scores, true, threads);
  steps[LayerStep::kScores] = std::move(answer.scores);
  steps[LayerStep::kWeights] = std::move(answer.weights);
  steps[LayerStep::kHeads] = join_heads(answer.out);
  const Tensor<double> heads = taken(LayerStep::kHeads);
  steps[LayerStep::kOutput] =
      problem.out_proj ? plain_projection(heads, *problem.out_proj, dtype, order, threads) : heads;
  return steps;
}

}  // namespace attn
