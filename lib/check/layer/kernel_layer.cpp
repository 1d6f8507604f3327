#include "check/layer/kernel_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "check/layer/layer_reference.h"
#include "nn/attention.h"

namespace attn {

namespace {

std::vector<float> as_float(const Tensor<double>& tensor) {
  std::vector<float> values(tensor.values.size());
  std::transform(tensor.values.begin(), tensor.values.end(), values.begin(),
                 [](double value) { return static_cast<float>(value); });
  return values;
}

Tensor<double> as_tensor(Matrix<const float> rows, Index batch) {
  Tensor<double> tensor({batch, rows.rows() / batch, rows.cols()});
  for (Index i = 0; i < rows.rows(); ++i) {
    for (Index c = 0; c < rows.cols(); ++c) {
      tensor.data()[i * rows.cols() + c] = static_cast<double>(rows(i, c));
    }
  }
  return tensor;
}

// What the layer of lib/nn cannot do, or nothing.
std::string obstacle(const LayerProblem& problem) {
  const AttentionProblem& attention = problem.attention;
  const AttentionRules& rules = attention.rules;
  const Index dim = problem.x.dim(2);
  if (!problem.out_proj) return "no out_proj";
  if (problem.source().dim(2) != dim || problem.out_proj->out() != dim) return "widths differ";
  if (problem.value_dim() != problem.head_dim()) return "value_dim is not head_dim";
  const bool bias = !problem.q_proj.bias.empty();
  if (bias != !problem.k_proj.bias.empty() || bias != !problem.v_proj.bias.empty()) {
    return "only some of q, k and v have a bias";
  }
  if (rules.window_left >= 0 || rules.window_right >= 0) return "a window";
  if (rules.softcap > 0) return "a softcap";
  if (!attention.sinks.empty()) return "sinks";
  if (!attention.cu_seqlens_q.empty()) return "packed sequences";
  const double scale = 1 / std::sqrt(static_cast<double>(problem.head_dim()));
  if (rules.scale && std::abs(*rules.scale - scale) > 1e-12 * scale) return "a scale of its own";
  const bool moved = rules.causal_offset.value_or(0) != 0 ||
                     (rules.causal_alignment == CausalAlignment::kBottomRight &&
                      (problem.q_len() != problem.kv_len() || !attention.kv_lens.empty()));
  const bool placed = rules.causal || !attention.alibi_slopes.empty();
  if (placed && moved) return "an offset";
  if (placed && problem.context) return "positions in cross-attention";
  if (!attention.alibi_slopes.empty()) {
    const std::vector<double> usual = alibi_slopes(problem.heads);
    for (std::size_t h = 0; h < usual.size(); ++h) {
      if (std::abs(usual[h] - attention.alibi_slopes[h]) > 1e-6) return "ALiBi slopes of its own";
    }
  }
  if (problem.rope) {
    const LayerRope& rope = *problem.rope;
    const RopeFrequencies usual =
        rope_frequencies(rope.rotary_dim(), rope.base, rope.scaling, problem.q_len());
    bool same = rope.rotary_dim() == problem.head_dim() && rope.pos0 == 0 && !problem.context &&
                std::abs(rope.attention_factor - usual.attention_factor) < 1e-12;
    for (std::size_t i = 0; same && i < rope.inv_freq.size(); ++i) {
      same = std::abs(rope.inv_freq[i] - usual.inv_freq[i]) <= 1e-12 * usual.inv_freq[i];
    }
    if (!same) return "a partial or shifted rotation";
  }
  if (attention.mask) {
    const Shape& shape = attention.mask->shape;
    if (rules.mask_type != MaskType::kBool || shape[1] != 1 || shape[2] != 1) {
      return "a mask that is not over keys alone";
    }
  }
  return "";
}

// 1 where a key of a sequence counts; empty where all do.
std::vector<std::uint8_t> key_mask(const LayerProblem& problem) {
  const AttentionProblem& attention = problem.attention;
  if (!attention.mask && attention.kv_lens.empty()) return {};
  std::vector<std::uint8_t> mask;
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index j = 0; j < problem.kv_len(); ++j) {
      const bool within =
          attention.kv_lens.empty() || j < attention.kv_lens[static_cast<std::size_t>(b)];
      const bool shown = !attention.mask || attention.mask_at(b, 0, 0, j) != 0;
      mask.push_back(within && shown ? 1 : 0);
    }
  }
  return mask;
}

void set(ParamStore<float>& store, const char* name, const Projection& projection) {
  const std::vector<float> weight = as_float(projection.weight);
  const ParamInfo* place = store.find(std::string(name) + ".weight");
  std::copy(weight.begin(), weight.end(), store.values() + place->place.offset);
  if (projection.bias.empty()) return;
  place = store.find(std::string(name) + ".bias");
  std::transform(projection.bias.begin(), projection.bias.end(),
                 store.values() + place->place.offset,
                 [](double value) { return static_cast<float>(value); });
}

}  // namespace

std::optional<LayerSteps> kernel_layer(const LayerProblem& problem, std::string& why) {
  why = obstacle(problem);
  if (!why.empty()) return std::nullopt;
  const AttentionProblem& attention = problem.attention;
  AttentionConfig config;
  config.dim = problem.x.dim(2);
  config.heads = problem.heads;
  config.kv_heads = problem.kv_heads;
  config.head_dim = problem.head_dim();
  config.bias = !problem.q_proj.bias.empty();
  config.out_bias = !problem.out_proj->bias.empty();
  config.causal = attention.rules.causal;
  config.cross = problem.context.has_value();
  config.alibi = !attention.alibi_slopes.empty();
  if (problem.rope) {
    config.rope_base = problem.rope->base;
    config.rope_pairs = problem.rope->pairs;
    config.rope_scaling = problem.rope->scaling;
  }
  ParamStore<float> store;
  const Attention<float> layer(store, "", config);
  store.allocate();
  set(store, "q_proj", problem.q_proj);
  set(store, "k_proj", problem.k_proj);
  set(store, "v_proj", problem.v_proj);
  set(store, "out_proj", *problem.out_proj);

  Workspace work(1);
  Probe<float> probe;
  probe.want_weights = true;
  Pass<float> pass{store.values(), work, &probe};
  const std::vector<float> x = as_float(problem.x);
  const std::vector<float> source = as_float(problem.source());
  const std::vector<std::uint8_t> mask = key_mask(problem);
  Sequences rows{problem.batch(), problem.q_len(), nullptr};
  Context<float> context;
  context.rows = {problem.batch(), problem.kv_len(), mask.empty() ? nullptr : mask.data()};
  context.x = {source.data(), context.rows.rows(), problem.source().dim(2)};
  if (!problem.context) rows.key_mask = context.rows.key_mask;
  AttentionTape<float> tape;
  const Matrix<float> output = layer.forward(pass, {x.data(), rows.rows(), config.dim}, rows,
                                             problem.context ? &context : nullptr, nullptr, &tape);
  LayerSteps steps;
  const Index batch = problem.batch();
  steps[LayerStep::kQ] = split_heads(as_tensor(tape.q, batch), problem.heads);
  steps[LayerStep::kK] = split_heads(as_tensor(tape.k, batch), problem.kv_heads);
  steps[LayerStep::kV] = split_heads(as_tensor(tape.v, batch), problem.kv_heads);
  const Tensor<float>& weights = probe.weights.begin()->second;
  steps[LayerStep::kWeights] = Tensor<double>(weights.shape);
  std::copy(weights.values.begin(), weights.values.end(),
            steps[LayerStep::kWeights].values.begin());
  steps[LayerStep::kHeads] = as_tensor(tape.mixed, batch);
  steps[LayerStep::kOutput] = as_tensor(output, batch);
  return steps;
}

}  // namespace attn
