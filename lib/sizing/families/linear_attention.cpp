// Families in which only some layers attend and the others are linear attention, whose state does
// not grow.
// Sources: Qwen3-Next, Qwen3.5, Kimi-Linear: configs in ai-dynamo/aiconfigurator and the
// transformers classes; the state of Qwen3.6 in lmstudio-ai/lmstudio-bug-tracker#1862. MiniMax,
// OLMo-hybrid: their configuration classes in transformers 5.24 (attn_type_list: the code beside
// MiniMax-Text-01's weights); Ring-linear: mlx-lm bailing_moe_linear.py.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sizing/families/family.h"
#include "sizing/families/state.h"

namespace attn {
namespace {

// Qwen3-Next and 3.5: every fourth layer attends, the others are gated delta nets.
template <Index kValueHeads>
CacheSpec gated_delta(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const LayerState state = delta_state(config, family, {16, kValueHeads, 128, 128});
  config.ignore("full_attention_interval");
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return layers_with_state(config, *words, sizes, state, {"linear_attention"});
  }
  const Index n = config.count_or({"full_attention_interval"}, "distance of attention layers",
                                  {4, family.defaults.name});
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add((i + 1) % n == 0 ? full_layer(sizes) : state_layer(state));
  }
  return spec;
}

// OLMo-hybrid: the same, but for the sizes its class works out.
CacheSpec olmo_hybrid(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index heads = sizes.heads;
  const Index keys = config.number("linear_num_key_heads").value_or(heads);
  if (keys < 1) config.refuse("'linear_num_key_heads' must be 1 or more: 0");
  const Index key_dim = 3 * read_width(config, family) / (4 * keys);
  const Index stated = config.number("linear_key_head_dim").value_or(key_dim);
  const LayerState state =
      delta_state(config, family, {heads, heads, key_dim, config.product({2, stated}), true});
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return layers_with_state(config, *words, sizes, state, {"linear_attention"});
  }
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    const bool full = (i + 1) % 4 == 0 || (sizes.layers < 4 && i == sizes.layers - 1);
    spec.add(full ? full_layer(sizes) : state_layer(state));
  }
  return spec;
}

// Ring-linear: the last layer of each group attends, and those behind the last whole group.
CacheSpec bailing_linear(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index group = config.required_count({"layer_group_size"}, "layers of a group");
  const Index width = read_width(config, family);
  const Index linear_dim = width / sizes.heads;
  const LayerState state{.kind = "linear attention",
                         .recurrent = config.product({sizes.heads, linear_dim, linear_dim})};
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    const bool full = (i + 1) % group == 0 || i >= sizes.layers / group * group;
    spec.add(full ? full_layer(sizes) : state_layer(state));
  }
  return spec;
}

// MiniMax-01: lightning (linear) attention, every eighth layer plain; attn_type_list has 1 for it.
CacheSpec minimax(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const LayerState state{
      .kind = "linear attention",
      .recurrent = config.product({sizes.heads, sizes.head_dim, sizes.head_dim})};
  config.ignore("attn_type_list");
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return layers_with_state(config, *words, sizes, state, {"linear_attention"});
  }
  const auto types = config.numbers("attn_type_list");
  if (!types && family.model_type == "minimax_m2") return all_full(sizes);
  if (!types || static_cast<Index>(types->size()) != sizes.layers) {
    config.refuse("does not say for each layer whether it attends ('attn_type_list')");
  }
  CacheSpec spec;
  for (const Index full : *types) {
    if (full > 1) config.refuse(fmt::format("'attn_type_list' has {}, neither 0 nor 1", full));
  }
  for (const Index full : *types) spec.add(full == 1 ? full_layer(sizes) : state_layer(state));
  return spec;
}

// Kimi-Linear: full_attn_layers count from 1 and keep latent rows; the others are delta nets (KDA).
CacheSpec kimi_linear(ConfigReader& config, const Family& family) {
  const Index layers = read_layers(config, family);
  auto linear = config.object("linear_attn_config");
  if (!linear) config.refuse("says nothing about its linear layers ('linear_attn_config')");
  const auto full = linear->numbers("full_attn_layers");
  if (!full) config.refuse("does not say which layers attend ('full_attn_layers')");
  for (const Index layer : *full) {
    if (layer < 1 || layer > layers) {
      config.refuse(fmt::format("'full_attn_layers' has layer {} of {}", layer, layers));
    }
  }
  const std::string_view from = family.defaults.name;
  const Index heads = linear->count_or({"num_heads"}, "linear heads", {32, from});
  const Index dim = linear->count_or({"head_dim"}, "linear head dim", {128, from});
  const Index taps = linear->count_or({"short_conv_kernel_size"}, "convolution taps", {4, from});
  const LayerState state{.kind = "delta attention",
                         .conv_inner = config.product({3, heads, dim, taps - 1}),
                         .recurrent = config.product({heads, dim, dim}),
                         .conv_is_f32 = true};
  const LayerCache attends = latent_layer(config, family);
  config.ignore("head_dim");
  config.ignore("use_mla");
  CacheSpec spec;
  for (Index i = 1; i <= layers; ++i) {
    const bool here = std::find(full->begin(), full->end(), i) != full->end();
    spec.add(here ? attends : state_layer(state));
  }
  config.note("layers that attend", static_cast<Index>(full->size()),
              "linear_attn_config.full_attn_layers");
  return spec;
}

constexpr ClassDefaults kQwen35 = {"Qwen3_5TextConfig", 32, 16, 4096, 4, 256};

constexpr std::array kFamilies = {
    Family{"bailing_moe_linear", {}, bailing_linear},
    Family{"kimi_k3_text", {"KimiLinearConfig", 0, 0, 0}, kimi_linear},
    Family{"kimi_linear", {"KimiLinearConfig", 0, 0, 0}, kimi_linear},
    Family{"minimax", {"MiniMaxConfig", 32, 32, 4096, 8}, minimax},
    Family{"minimax_m1", {"MiniMaxConfig", 32, 32, 4096, 8}, minimax},
    Family{"minimax_m2", {"MiniMaxM2Config", 62, 48, 3072, 8, 128}, minimax},
    Family{"minimax_text_01", {"MiniMaxConfig", 32, 32, 4096, 8}, minimax},
    Family{"MiniMaxText01", {"MiniMaxConfig", 32, 32, 4096, 8}, minimax},
    Family{"olmo_hybrid", {"OlmoHybridConfig", 32, 30, 3840}, olmo_hybrid},
    Family{"qwen3_5_moe_text", {"Qwen3_5MoeTextConfig", 40, 16, 2048, 2, 256}, gated_delta<32>},
    Family{"qwen3_5_text", kQwen35, gated_delta<32>},
    Family{"qwen3_next", {"Qwen3NextConfig", 48, 16, 2048, 2, 256}, gated_delta<32>},
};

}  // namespace

std::span<const Family> linear_attention_families() {
  return kFamilies;
}

}  // namespace attn
