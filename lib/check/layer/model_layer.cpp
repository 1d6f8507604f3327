#include "check/layer/model_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "check/layer/layer_reference.h"
#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

using Model = Transformer<double>;

const double* find(const Model& model, const std::string& name, Index& size) {
  const ParamInfo* info = model.params().find(name);
  if (info == nullptr) return nullptr;
  size = info->place.size();
  return model.params().values() + info->place.offset;
}

Projection projection(const Model& model, const std::string& name) {
  Projection result;
  const ParamInfo* weight = model.params().find(name + ".weight");
  require_shape(weight != nullptr, "model_layer: the block has no such projection");
  result.weight = Tensor<double>(weight->shape);
  std::copy_n(model.params().values() + weight->place.offset, weight->place.size(),
              result.weight.data());
  Index size = 0;
  if (const double* bias = find(model, name + ".bias", size)) result.bias.assign(bias, bias + size);
  return result;
}

// (x - mean) / sqrt(variance + eps), or x / sqrt(mean square + eps), times weight, plus bias.
Tensor<double> normed(const Model& model, const std::string& name, const Tensor<double>& x) {
  const ModelConfig& config = model.config();
  Index size = 0;
  const double* weight = find(model, name + ".weight", size);
  require_shape(weight != nullptr, "model_layer: the block has no such norm");
  const double* bias = find(model, name + ".bias", size);
  Tensor<double> y(x.shape);
  const Index dim = x.dim(2);
  for (Index row = 0; row < x.size() / dim; ++row) {
    const double* from = x.data() + row * dim;
    double mean = 0;
    for (Index c = 0; c < dim; ++c) mean += from[c] / static_cast<double>(dim);
    if (config.norm_type == NormType::kRmsNorm) mean = 0;
    double square = 0;
    for (Index c = 0; c < dim; ++c) {
      square += (from[c] - mean) * (from[c] - mean) / static_cast<double>(dim);
    }
    const double scale = 1 / std::sqrt(square + config.norm_eps);
    for (Index c = 0; c < dim; ++c) {
      y.data()[row * dim + c] =
          (from[c] - mean) * scale * weight[c] + (bias != nullptr ? bias[c] : 0);
    }
  }
  return y;
}

Tensor<double> sum(Tensor<double> a, const Tensor<double>& b) {
  for (std::size_t n = 0; n < a.values.size(); ++n) a.values[n] += b.values[n];
  return a;
}

void round_to_f32(Tensor<double>& tensor) {
  for (double& value : tensor.values) value = static_cast<double>(static_cast<float>(value));
}

void hide(AttentionProblem& attention, const std::vector<std::uint8_t>& mask, Index batch,
          Index keys) {
  if (mask.empty()) return;
  attention.mask = Tensor<double>({batch, 1, 1, keys});
  std::copy(mask.begin(), mask.end(), attention.mask->values.begin());
}

// The layer of a module that reads x and context.
LayerProblem layer_of(const Model& model, const std::string& module, bool causal, Tensor<double> x,
                      std::optional<Tensor<double>> context,
                      const std::vector<std::uint8_t>& mask) {
  const ModelConfig& config = model.config();
  LayerProblem problem;
  problem.x = std::move(x);
  problem.context = std::move(context);
  problem.heads = config.heads;
  problem.kv_heads = config.kv_heads;
  problem.q_proj = projection(model, module + ".q_proj");
  problem.k_proj = projection(model, module + ".k_proj");
  problem.v_proj = projection(model, module + ".v_proj");
  problem.out_proj = projection(model, module + ".out_proj");
  problem.attention.rules.causal = causal;
  hide(problem.attention, mask, problem.batch(), problem.kv_len());
  if (problem.context) return problem;  // positions act in self-attention only
  if (config.position == Position::kAlibi) {
    problem.attention.alibi_slopes = alibi_slopes(config.heads);
  }
  if (config.position == Position::kRope) {
    LayerRope rope;
    rope.pairs = config.rope_style;
    rope.base = config.rope_base;
    rope.scaling = config.rope_scaling;
    const RopeFrequencies made =
        rope_frequencies(config.head_dim, rope.base, rope.scaling, problem.q_len());
    rope.inv_freq = made.inv_freq;
    rope.attention_factor = made.attention_factor;
    problem.rope = std::move(rope);
  }
  return problem;
}

std::map<std::string, Tensor<double>, std::less<>> hidden_states(const Model& model,
                                                                 const BlockTokens& tokens) {
  Workspace work(1);
  Probe<double> probe;
  probe.want_hidden = true;
  Pass<double> pass = model.pass(work);
  pass.probe = &probe;
  const auto mask = [](const std::vector<std::uint8_t>& of) {
    return of.empty() ? nullptr : of.data();
  };
  TokenInput input;
  input.ids = tokens.ids.values;
  input.rows = {tokens.ids.dim(0), tokens.ids.dim(1), mask(tokens.key_mask)};
  if (tokens.source.rank() == 2) {
    input.source = tokens.source.values;
    input.source_rows = {tokens.source.dim(0), tokens.source.dim(1), mask(tokens.source_mask)};
  }
  model.forward(pass, input, nullptr, nullptr);
  return std::move(probe.hidden);
}

}  // namespace

std::string BlockPlace::module() const {
  return fmt::format("{}blocks.{}.{}", stack, block, cross ? "cross_attn" : "attn");
}

BlockPlace parse_block(std::string_view text, const ModelConfig& config) {
  BlockPlace place;
  std::string rest(text);
  const auto take = [&rest](std::string_view word) {
    if (rest.rfind(word, 0) != 0) return false;
    rest.erase(0, word.size());
    return true;
  };
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("--block {}: {}", escaped(text), why),
                     {"a number, encoder.N, decoder.N or decoder.N.cross"});
  };
  const bool two = config.arch == Arch::kEncoderDecoder;
  if (take("encoder."))
    place.stack = "encoder.";
  else if (take("decoder.") || two)
    place.stack = "decoder.";
  if (!two && !place.stack.empty()) refuse("the model has one stack");
  take("blocks.");
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), place.block);
  if (parsed.ec != std::errc()) refuse("want the number of a block");
  rest.erase(0, static_cast<std::size_t>(parsed.ptr - rest.data()));
  if (rest == ".cross" || rest == ".cross_attn") {
    place.cross = true;
  } else if (!rest.empty() && rest != ".attn") {
    refuse("want attn or cross behind the number");
  }
  if (place.cross && place.stack != "decoder.") refuse("only a decoder of two stacks crosses");
  const Index depth = place.stack == "encoder." ? config.encoder_depth : config.depth;
  if (place.block < 0 || place.block >= depth) {
    refuse(fmt::format("the stack has {} blocks, from 0 on", depth));
  }
  return place;
}

ModelLayer model_layer(const Transformer<double>& model, const BlockPlace& place,
                       const BlockTokens& tokens) {
  const ModelConfig& config = model.config();
  const auto hidden = hidden_states(model, tokens);
  const std::string name = fmt::format("{}blocks.{}", place.stack, place.block);
  const std::string before = place.block == 0
                                 ? place.stack + "embedding"
                                 : fmt::format("{}blocks.{}", place.stack, place.block - 1);
  const bool pre = config.norm == NormPlacement::kPre;
  const bool encoder = config.arch == Arch::kEncoder || place.stack == "encoder.";
  const std::vector<std::uint8_t>& own_mask =
      place.stack == "encoder." ? tokens.source_mask : tokens.key_mask;
  ModelLayer result;
  Tensor<double> stream = hidden.at(before);
  Tensor<double> x = pre ? normed(model, name + ".norm1", stream) : stream;
  std::string norm = "norm1";
  std::optional<Tensor<double>> context;
  if (place.cross) {
    const LayerProblem own = layer_of(model, name + ".attn", true, x, std::nullopt, own_mask);
    stream = sum(std::move(stream), reference_layer(own, {}, 1)[LayerStep::kOutput]);
    if (!pre) stream = normed(model, name + ".norm1", stream);
    x = pre ? normed(model, name + ".norm_cross", stream) : stream;
    norm = "norm_cross";
    const std::string last = fmt::format("encoder.blocks.{}", config.encoder_depth - 1);
    context = hidden.count("encoder.norm") != 0 ? hidden.at("encoder.norm") : hidden.at(last);
    round_to_f32(*context);
  }
  round_to_f32(x);
  round_to_f32(stream);
  result.layer.problem = layer_of(model, place.module(), !encoder && !place.cross, std::move(x),
                                  std::move(context), place.cross ? tokens.source_mask : own_mask);
  result.layer.x_is =
      pre ? fmt::format("{}.{} of the stream before {}", name, norm, place.module())
          : fmt::format("the stream before {}, whose norm comes later", place.module());
  if (pre) result.raw_x = std::move(stream);
  return result;
}

}  // namespace attn
