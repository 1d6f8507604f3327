// Families in which only some layers attend; the others keep a state that does not grow.
// Sources: Jamba, Nemotron-H: configs in ai-dynamo/aiconfigurator and the transformers classes;
// Zamba2, Falcon-H1: configuration_zamba2.py, configuration_falcon_h1.py; LFM2:
// gpustack/gguf-parser-go#31; Bamba, Granite-4, RecurrentGemma, Zamba: their configuration classes
// in transformers 5.24.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "sizing/families/family.h"
#include "sizing/families/state.h"

namespace attn {
namespace {

// Layers are counted from 0.
void require_below(const ConfigReader& config, const char* key, const std::vector<Index>& ids,
                   Index layers) {
  for (const Index id : ids) {
    if (id >= layers) config.refuse(fmt::format("'{}' has {} of {} layers", key, id, layers));
  }
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
      return layers_with_state(config, *words, sizes, state, {"mamba", "linear_attention"});
    }
  }
  if (!offset) config.note("first attention layer", 4, "default of JambaConfig");
  if (offset.value_or(4) >= period) {
    config.refuse(
        fmt::format("'attn_layer_offset' is {} of a period of {}", offset.value_or(4), period));
  }
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add(i % period == offset.value_or(4) ? full_layer(sizes) : state_layer(state));
  }
  return spec;
}

// One letter a layer: M Mamba-2, * attention, - MLP, E experts.
CacheSpec nemotron_h(ConfigReader& config, const Family& family) {
  const auto pattern = config.letters("hybrid_override_pattern");
  auto words = pattern ? std::nullopt : config.words("layers_block_type");
  if (!pattern && !words) words = config.words("layer_types");
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
    return layers_with_state(config, *words, sizes, state, {"mamba", "mamba2", "linear_attention"},
                             {"mlp", "moe", "-"});
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
    require_below(config, "hybrid_layer_ids", *ids, layers);
    for (const Index id : *ids) {
      attends[static_cast<std::size_t>(id)] = true;
    }
  } else if (const auto words = read_layer_words(config, "layers_block_type", layers)) {
    for (std::size_t i = 0; i < words->size(); ++i) {
      const std::string& word = (*words)[i];
      attends[i] = word == "hybrid" || word == "g";
      if (!attends[i] && word != "mamba" && word != "m" && word != "linear_attention") {
        config.refuse(fmt::format("'layers_block_type' has a kind that is not supported: '{}'",
                                  escaped(word)));
      }
    }
  } else if (!second) {
    // ZambaConfig: two Mamba layers and one that attends as well go before the period.
    const Index period = config.count_or({"attn_layer_period"}, "distance of attention layers",
                                         {6, family.defaults.name});
    const Index offset = config.number("attn_layer_offset").value_or(4);
    for (Index i = 2; i < layers; ++i) {
      attends[static_cast<std::size_t>(i)] = i == 2 || (i - 3) % period == offset;
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
  const Index inner =
      config.is_null("mamba_d_ssm")
          ? config.product(
                {config.count_or({"mamba_expand"}, "expansion", {2, family.defaults.name}),
                 read_width(config, family)})
          : config.count_or({"mamba_d_ssm"}, "inner width", {1024, family.defaults.name});
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
    return layers_with_state(config, *words, sizes, state, {"conv"});
  }
  const auto attends = config.numbers("full_attn_idxs");
  if (!attends) config.refuse("does not say which layers attend ('layer_types')");
  require_below(config, "full_attn_idxs", *attends, sizes.layers);
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
      return layers_with_state(config, *words, sizes, state, {"mamba", "linear_attention"});
    }
  }
  const auto attends = config.numbers("attn_layer_indices");
  if (!attends) config.refuse("does not say which layers attend ('attn_layer_indices')");
  require_below(config, "attn_layer_indices", *attends, sizes.layers);
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
  std::vector<std::string> pattern = {"recurrent", "recurrent", "attention"};
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
    } else if (word != "attention") {
      config.refuse(
          fmt::format("'block_types' has a kind that is not supported: '{}'", escaped(word)));
    } else {
      spec.add(window > 0 ? window_layer(sizes, window) : full_layer(sizes));
    }
  }
  return spec;
}

constexpr std::array kFamilies = {
    Family{"bamba", {"BambaConfig", 32, 32, 4096, 8}, bamba},
    Family{"falcon_h1", {"FalconH1Config", 32, 32, 4096, 8}, falcon_h1},
    Family{"granitemoehybrid", {"GraniteMoeHybridConfig", 32, 32, 4096}, bamba},
    Family{"jamba", {"JambaConfig", 32, 32, 4096, 8}, jamba},
    Family{"lfm2", {"Lfm2Config", 32, 32, 2560, 8}, lfm2},
    Family{"lfm2_moe", {"Lfm2MoeConfig", 32, 32, 2048, 8}, lfm2},
    Family{"nemotron_h", {"NemotronHConfig", 52, 32, 4096, 8, 128}, nemotron_h},
    Family{"recurrent_gemma", {"RecurrentGemmaConfig", 26, 10, 2560, 0, 0, 2048}, recurrent_gemma},
    Family{"zamba", {"ZambaConfig", 76, 16, 3712}, zamba},
    Family{"zamba2", {"Zamba2Config", 54, 32, 2560}, zamba},
};

}  // namespace

std::span<const Family> hybrid_families() {
  return kFamilies;
}

}  // namespace attn
