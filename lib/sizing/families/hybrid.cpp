// Families in which only some layers attend; the others keep a state that does not grow.
// Sources: Jamba, Nemotron-H, Qwen3-Next, Qwen3.5: configs in ai-dynamo/aiconfigurator and the
// transformers classes; Zamba2, Falcon-H1: configuration_zamba2.py, configuration_falcon_h1.py;
// LFM2: gpustack/gguf-parser-go#31; Kimi-Linear: aiconfigurator; Bamba, Granite-4, RecurrentGemma,
// MiniMax, Zamba, OLMo-hybrid: from memory of their classes.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "sizing/families/family.h"
#include "sizing/families/state.h"

namespace attn {
namespace {

LayerCache state_layer(const LayerState& state) {
  return {.kind = state.kind, .state = state};
}

using Words = std::vector<std::string>;

// Layers by a word each, where "attention" attends and others keep `state`; words in `nothing` keep
// neither.
CacheSpec by_words(ConfigReader& config, const Words& words, const Sizes& sizes, Index window,
                   const LayerState& state, std::initializer_list<const char*> stateful,
                   std::initializer_list<const char*> nothing = {}) {
  const auto among = [](std::initializer_list<const char*> names, const std::string& word) {
    return std::find(names.begin(), names.end(), word) != names.end();
  };
  return layers_by_words(config, words, sizes, window,
                         [&](const std::string& word) -> std::optional<LayerCache> {
                           if (among(stateful, word)) return state_layer(state);
                           if (among(nothing, word)) return LayerCache{.kind = word};
                           return std::nullopt;
                         });
}

CacheSpec jamba(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index expand = config.count_or({"mamba_expand"}, "expansion", {2, family.defaults.name});
  const LayerState state =
      mamba1_state(config, family, config.product({expand, read_width(config, family)}));
  const Index period = config.count_or({"attn_layer_period"}, "distance of attention layers",
                                       {8, family.defaults.name});
  const auto offset = config.number("attn_layer_offset");
  for (const char* key : {"layers_block_type", "layer_types"}) {
    if (const auto words = read_layer_words(config, key, sizes.layers)) {
      return by_words(config, *words, sizes, 0, state, {"mamba"});
    }
  }
  if (!offset) config.note("first attention layer", 4, "default of JambaConfig");
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add(i % period == offset.value_or(4) ? full_layer(sizes) : state_layer(state));
  }
  return spec;
}

// One letter a layer: M Mamba-2, * attention, - MLP, E experts.
CacheSpec nemotron_h(ConfigReader& config, const Family& family) {
  const auto pattern = config.letters("hybrid_override_pattern");
  const auto words = pattern ? std::nullopt : config.words("layers_block_type");
  if (!pattern && !words) {
    config.refuse("does not say which layers attend ('hybrid_override_pattern')");
  }
  Family sized = family;
  const std::size_t entries = pattern ? pattern->size() : words->size();
  sized.defaults.layers = static_cast<Index>(entries);
  sized.defaults.name = "the pattern's length";
  const Index layers = read_layers(config, sized);
  if (layers != static_cast<Index>(entries)) {
    config.refuse(
        fmt::format("the pattern of layers has {} entries for {} layers", entries, layers));
  }
  sized.defaults.name = family.defaults.name;
  const Sizes sizes = read_sizes(config, sized);
  const LayerState state = mamba2_state(config, family, 0, {128, 64, 8, 128});
  if (words)
    return by_words(config, *words, sizes, 0, state, {"mamba", "mamba2"}, {"mlp", "moe", "-"});
  CacheSpec spec;
  for (const char letter : *pattern) {
    if (letter == '*') {
      spec.add(full_layer(sizes));
    } else if (letter == 'M') {
      spec.add(state_layer(state));
    } else if (letter == '-' || letter == 'E') {
      spec.add({.kind = letter == 'E' ? "experts" : "mlp"});
    } else {
      config.refuse(fmt::format("'hybrid_override_pattern' has a letter that is not known: '{}'",
                                escaped(std::string(1, letter))));
    }
  }
  return spec;
}

// Qwen3-Next and 3.5: every fourth layer attends, the others are gated delta nets.
template <Index kValueHeads>
CacheSpec gated_delta(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const LayerState state = delta_state(config, family, kValueHeads);
  config.ignore("full_attention_interval");
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return by_words(config, *words, sizes, 0, state, {"linear_attention"});
  }
  const Index n = config.count_or({"full_attention_interval"}, "distance of attention layers",
                                  {4, family.defaults.name});
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add((i + 1) % n == 0 ? full_layer(sizes) : state_layer(state));
  }
  return spec;
}

// Every layer is Mamba; those of hybrid_layer_ids attend as well, with shared weights and caches of
// their own, over twice the width.
CacheSpec zamba(ConfigReader& config, const Family& family) {
  Family doubled = family;
  const Index layers = read_layers(config, family);
  const Index heads = read_heads(config, family);
  const Index width = read_width(config, family);
  if (!config.has("attention_head_dim") && !config.has("head_dim")) {
    if (2 * width % heads != 0) {
      config.refuse(fmt::format("{} heads do not divide twice the width {}", heads, width));
    }
    doubled.defaults.head_dim = 2 * width / heads;
    doubled.defaults.name = "its class: twice the width / heads";
  }
  const Sizes sizes = read_sizes(config, doubled);
  const Index expand = config.count_or({"mamba_expand"}, "expansion", {2, family.defaults.name});
  const bool second = family.model_type == "zamba2";
  const LayerState state =
      second ? mamba2_state(config, family, config.product({expand, width}), {8, 0, 1, 64})
             : mamba1_state(config, family, config.product({expand, width}));
  std::vector<bool> attends(static_cast<std::size_t>(layers), false);
  config.ignore("kv_channels");
  config.ignore("layers_block_type");
  if (const auto ids = config.numbers("hybrid_layer_ids")) {
    for (const Index id : *ids) {
      if (id >= layers)
        config.refuse(fmt::format("'hybrid_layer_ids' has {} of {} layers", id, layers));
      attends[static_cast<std::size_t>(id)] = true;
    }
  } else if (const auto words = read_layer_words(config, "layers_block_type", layers)) {
    for (std::size_t i = 0; i < words->size(); ++i) attends[i] = (*words)[i] == "hybrid";
  } else if (!second) {
    const Index period = config.count_or({"attn_layer_period"}, "distance of attention layers",
                                         {6, family.defaults.name});
    const Index offset = config.number("attn_layer_offset").value_or(4);
    for (Index i = 0; i < layers; ++i) {
      attends[static_cast<std::size_t>(i)] = i % period == offset;
    }
  } else {
    config.refuse("does not say which layers attend ('hybrid_layer_ids')");
  }
  CacheSpec spec;
  for (const bool both : attends) {
    LayerCache layer = state_layer(state);
    if (both)
      layer = {.kind = "full and " + state.kind, .rows = full_layer(sizes).rows, .state = state};
    spec.add(layer);
  }
  return spec;
}

// Attention and Mamba-2 side by side in every layer.
CacheSpec falcon_h1(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index inner = config.count_or({"mamba_d_ssm"}, "inner width", {1024, family.defaults.name});
  const LayerState state = mamba2_state(config, family, inner, {128, 0, 1, 256});
  LayerCache layer = full_layer(sizes);
  layer.kind = "full and mamba-2";
  layer.state = state;
  CacheSpec spec;
  spec.add(layer, sizes.layers);
  return spec;
}

CacheSpec lfm2(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index taps =
      config.count_or({"conv_L_cache"}, "convolution taps", {3, family.defaults.name});
  const LayerState state = short_conv_state(config, read_width(config, family), taps);
  config.ignore("full_attn_idxs");
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return by_words(config, *words, sizes, 0, state, {"conv"});
  }
  const auto attends = config.numbers("full_attn_idxs");
  if (!attends) config.refuse("does not say which layers attend ('layer_types')");
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    const bool full = std::find(attends->begin(), attends->end(), i) != attends->end();
    spec.add(full ? full_layer(sizes) : state_layer(state));
  }
  return spec;
}

// Bamba and Granite 4: Mamba-2 with some layers of attention.
CacheSpec bamba(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index expand = config.count_or({"mamba_expand"}, "expansion", {2, family.defaults.name});
  const LayerState state = mamba2_state(
      config, family, config.product({expand, read_width(config, family)}), {128, 0, 1, 256});
  for (const char* key : {"layer_types", "layers_block_type"}) {
    if (const auto words = read_layer_words(config, key, sizes.layers)) {
      return by_words(config, *words, sizes, 0, state, {"mamba"});
    }
  }
  const auto attends = config.numbers("attn_layer_indices");
  if (!attends) config.refuse("does not say which layers attend ('attn_layer_indices')");
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    const bool full = std::find(attends->begin(), attends->end(), i) != attends->end();
    spec.add(full ? full_layer(sizes) : state_layer(state));
  }
  return spec;
}

// Griffin (De et al. 2024, arXiv:2402.19427): a pattern of blocks, repeated; attention over a
// window.
CacheSpec recurrent_gemma(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index width = read_width(config, family);
  const auto stated = config.count({"lru_width"}, "recurrent width");
  const Index taps =
      config.count_or({"conv1d_width"}, "convolution taps", {4, family.defaults.name});
  const Index recurrent = stated.value_or(width);
  const LayerState state{.kind = "gated recurrence",
                         .conv_inner = config.product({recurrent, taps - 1}),
                         .recurrent = recurrent};
  Words pattern = {"recurrent", "recurrent", "attention"};
  for (const char* key : {"block_types", "_block_types"}) {
    if (const auto words = config.words(key)) pattern = *words;
  }
  if (pattern.empty()) config.refuse("'block_types' is empty");
  const Index window = read_window(config, family);
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    const std::string& word = pattern[static_cast<std::size_t>(i) % pattern.size()];
    if (word == "recurrent") {
      spec.add(state_layer(state));
    } else {
      spec.add(window > 0 ? window_layer(sizes, window) : full_layer(sizes));
    }
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
    return by_words(config, *words, sizes, 0, state, {"linear_attention"});
  }
  const auto types = config.numbers("attn_type_list");
  if (!types && family.model_type == "minimax_m2") return all_full(sizes);
  if (!types || static_cast<Index>(types->size()) != sizes.layers) {
    config.refuse("does not say for each layer whether it attends ('attn_type_list')");
  }
  CacheSpec spec;
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
    Family{"bamba", {"BambaConfig", 32, 32, 4096, 8}, bamba},
    Family{"falcon_h1", {"FalconH1Config", 32, 32, 4096, 8}, falcon_h1},
    Family{"granitemoehybrid", {"GraniteMoeHybridConfig", 32, 32, 4096}, bamba},
    Family{"jamba", {"JambaConfig", 32, 32, 4096, 8}, jamba},
    Family{"kimi_k3_text", {"KimiLinearConfig", 0, 0, 0}, kimi_linear},
    Family{"kimi_linear", {"KimiLinearConfig", 0, 0, 0}, kimi_linear},
    Family{"lfm2", {"Lfm2Config", 32, 32, 2560, 8}, lfm2},
    Family{"lfm2_moe", {"Lfm2MoeConfig", 32, 32, 2048, 8}, lfm2},
    Family{"minimax", {"MiniMaxConfig", 32, 32, 4096, 8}, minimax},
    Family{"minimax_m1", {"MiniMaxConfig", 32, 32, 4096, 8}, minimax},
    Family{"minimax_m2", {"MiniMaxM2Config", 62, 48, 3072, 8, 128}, minimax},
    Family{"minimax_text_01", {"MiniMaxConfig", 32, 32, 4096, 8}, minimax},
    Family{"MiniMaxText01", {"MiniMaxConfig", 32, 32, 4096, 8}, minimax},
    Family{"nemotron_h", {"NemotronHConfig", 52, 32, 4096, 8, 128}, nemotron_h},
    Family{"olmo_hybrid", {"OlmoHybridConfig", 0, 0, 0}, gated_delta<32>},
    Family{"qwen3_5_moe_text", {"Qwen3_5MoeTextConfig", 40, 16, 2048, 2, 256}, gated_delta<32>},
    Family{"qwen3_5_text", kQwen35, gated_delta<32>},
    Family{"qwen3_next", {"Qwen3NextConfig", 48, 16, 2048, 2, 256}, gated_delta<32>},
    Family{"recurrent_gemma", {"RecurrentGemmaConfig", 26, 10, 2560, 0, 0, 2048}, recurrent_gemma},
    Family{"zamba", {"ZambaConfig", 76, 16, 3712}, zamba},
    Family{"zamba2", {"Zamba2Config", 54, 32, 2560}, zamba},
};

}  // namespace

std::span<const Family> hybrid_families() {
  return kFamilies;
}

}  // namespace attn
