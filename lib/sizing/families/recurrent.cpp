// Families without a key-value cache: recurrent models, whose state does not grow, and encoders,
// which see all tokens at once.
// Sources: Mamba: transformers configuration_mamba.py, configuration_mamba2.py; RWKV:
// ggml-org/llama.cpp src/llama-hparams.cpp (token shift and head-size state); encoder-only 0:
// vllm-project/vllm kv_cache_interface.py. RWKV-4's five vectors: transformers
// modeling_rwkv.py.

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "sizing/families/family.h"
#include "sizing/families/state.h"

namespace attn {
namespace {

CacheSpec state_everywhere(const LayerState& state, Index layers) {
  CacheSpec spec;
  spec.add({.kind = state.kind, .state = state}, layers);
  return spec;
}

Index inner_width(ConfigReader& config, const Family& family) {
  const auto stated = config.count({"intermediate_size", "d_inner"}, "inner width");
  if (stated) return *stated;
  const Index expand = config.count_or({"expand"}, "expansion", {2, family.defaults.name});
  return config.product({expand, read_width(config, family)});
}

CacheSpec mamba(ConfigReader& config, const Family& family) {
  const Index layers = read_layers(config, family);
  return state_everywhere(mamba1_state(config, family, inner_width(config, family)), layers);
}

CacheSpec mamba2(ConfigReader& config, const Family& family) {
  const Index layers = read_layers(config, family);
  const Index expand = config.count_or({"expand"}, "expansion", {2, family.defaults.name});
  const Index inner = config.product({expand, read_width(config, family)});
  const Index head_dim =
      config.count_or({"head_dim"}, "state head dim", {64, family.defaults.name});
  return state_everywhere(mamba2_state(config, family, inner, {inner / head_dim, head_dim, 8, 128}),
                          layers);
}

// RWKV-4 keeps five vectors a layer (two token shifts, numerator, denominator, maximum); later ones
// keep two token shifts and a matrix for each head.
CacheSpec rwkv(ConfigReader& config, const Family& family) {
  const Index layers = read_layers(config, family);
  const Index width = read_width(config, family);
  LayerState state{.kind = "rwkv", .conv_inner = 2 * width, .conv_is_f32 = true};
  if (family.model_type == "rwkv") {
    const auto inner = config.count({"attention_hidden_size"}, "attention width");
    state.recurrent = 3 * inner.value_or(width);
  } else {
    const Index head =
        config.count_or({"head_size", "head_dim"}, "head size", {64, family.defaults.name});
    state.recurrent = config.product({width, head});
  }
  return state_everywhere(state, layers);
}

// xLSTM: each head's matrix memory, its normaliser and its maximum. Beck et al. 2024
// (arXiv:2405.04517), section 2.3; sizes as configuration_xlstm.py rounds them.
CacheSpec xlstm(ConfigReader& config, const Family& family) {
  const Index layers =
      config.count_or({"num_hidden_layers", "num_blocks"}, "layers", {32, family.defaults.name});
  const Index heads = read_heads(config, family);
  const Index width =
      config.count_or({"hidden_size", "embedding_dim"}, "width", {4096, family.defaults.name});
  const auto head_dim = [&](const char* key, double standard) {
    constexpr Index kMultiple = 64;
    const double wanted = static_cast<double>(width) * config.factor(key).value_or(standard);
    if (wanted > 1e12) config.refuse(fmt::format("'{}' is larger than that of any model", key));
    const auto whole = static_cast<Index>(std::ceil(wanted / kMultiple)) * kMultiple;
    return whole / heads;
  };
  const Index key_dim = head_dim("qk_dim_factor", 0.5);
  const Index value_dim = head_dim("v_dim_factor", 1.0);
  const LayerState state{
      .kind = "xlstm",
      .recurrent = config.product({heads, key_dim, value_dim}) + heads * (key_dim + 1)};
  return state_everywhere(state, layers);
}

CacheSpec encoder(ConfigReader& config, const Family& family) {
  if (config.flag("is_decoder").value_or(false)) return plain_rule(config, family);
  for (const char* key : {"layer_types", "sliding_window", "global_attn_every_n_layers"}) {
    config.ignore(key);  // who sees whom within the one pass
  }
  CacheSpec spec;
  const auto layers =
      config.count({"num_hidden_layers", "n_layers", "num_layers", "n_layer"}, "layers");
  spec.add({.kind = "encoder"}, layers.value_or(1));
  return spec;
}

constexpr Family only_encodes(std::string_view model_type) {
  return {model_type, {}, encoder};
}

constexpr std::array kFamilies = {
    Family{"falcon_mamba", {"FalconMambaConfig", 32, 0, 768}, mamba},
    Family{"mamba", {"MambaConfig", 32, 0, 768}, mamba},
    Family{"mamba2", {"Mamba2Config", 64, 0, 4096}, mamba2},
    Family{"rwkv", {"RwkvConfig", 32, 0, 4096}, rwkv},
    Family{"rwkv5", {"Rwkv5Config", 0, 0, 0}, rwkv},
    Family{"rwkv6", {"Rwkv6Config", 0, 0, 0}, rwkv},
    Family{"rwkv6qwen2", {"Rwkv6Qwen2Config", 0, 0, 0}, rwkv},
    Family{"rwkv7", {"RWKV7Config", 0, 0, 0}, rwkv},
    Family{"xlstm", {"xLSTMConfig", 32, 8, 4096}, xlstm},
    only_encodes("albert"),
    only_encodes("bert"),
    only_encodes("bert-generation"),
    only_encodes("big_bird"),
    only_encodes("camembert"),
    only_encodes("data2vec-text"),
    only_encodes("deberta"),
    only_encodes("deberta-v2"),
    only_encodes("distilbert"),
    only_encodes("electra"),
    only_encodes("ernie"),
    only_encodes("eurobert"),
    only_encodes("megatron-bert"),
    only_encodes("modernbert"),
    only_encodes("mpnet"),
    only_encodes("new"),
    only_encodes("nomic_bert"),
    only_encodes("rembert"),
    only_encodes("roberta"),
    only_encodes("roberta-prelayernorm"),
    only_encodes("roc_bert"),
    only_encodes("roformer"),
    only_encodes("vit"),
    only_encodes("xlm-roberta"),
    only_encodes("xlm-roberta-xl"),
    only_encodes("xmod"),
};

}  // namespace

std::span<const Family> recurrent_families() {
  return kFamilies;
}

}  // namespace attn
