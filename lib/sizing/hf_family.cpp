#include "sizing/hf_family.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/text.h"

namespace attn {
namespace {

LayerCache full_layer(const HfSizes& sizes) {
  return {.kv_heads = sizes.kv_heads, .key_dim = sizes.head_dim, .value_dim = sizes.head_dim};
}

LayerCache window_layer(const HfSizes& sizes, Index window) {
  LayerCache layer = full_layer(sizes);
  layer.keeps = LayerCache::Keeps::kLastTokens;
  layer.window = window;
  return layer;
}

CacheSpec all_full(const HfSizes& sizes) {
  CacheSpec spec;
  spec.add(full_layer(sizes), sizes.layers);
  return spec;
}

// One word for each layer says what it attends to; the window beside it.
CacheSpec by_layer_types(ConfigReader& config, const HfSizes& sizes) {
  const std::vector<std::string> types = *config.words("layer_types");
  if (static_cast<Index>(types.size()) != sizes.layers) {
    config.refuse(
        fmt::format("'layer_types' has {} entries for {} layers", types.size(), sizes.layers));
  }
  config.ignore("sliding_window_pattern");  // the same thing said otherwise
  CacheSpec spec;
  for (const std::string& type : types) {
    if (type == "full_attention") {
      spec.add(full_layer(sizes));
    } else if (type == "sliding_attention") {
      const auto window = config.number("sliding_window");
      if (!window || *window < 1) config.refuse("has sliding layers and no 'sliding_window'");
      spec.add(window_layer(sizes, *window));
    } else {
      config.refuse(
          fmt::format("'layer_types' has a kind that is not supported: '{}'", escaped(type)));
    }
  }
  return spec;
}

// Every n-th layer attends to everything, the others to a window.
CacheSpec every_nth_full(ConfigReader& config, const HfSizes& sizes, Index n) {
  const auto window = config.number("sliding_window");
  if (!window || *window < 1) config.refuse("says nothing about its window (no 'sliding_window')");
  config.note("window", *window, fmt::format("sliding_window, where one layer in {} is full", n));
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add((i + 1) % n == 0 ? full_layer(sizes) : window_layer(sizes, *window));
  }
  return spec;
}

// All layers attend to all tokens.
CacheSpec plain(ConfigReader& config, const HfFamily& family) {
  const HfSizes sizes = read_hf_sizes(config, family);
  return config.has("layer_types") ? by_layer_types(config, sizes) : all_full(sizes);
}

// A window that is not null holds for all layers.
CacheSpec window_everywhere(ConfigReader& config, const HfFamily& family) {
  const HfSizes sizes = read_hf_sizes(config, family);
  if (config.has("layer_types")) return by_layer_types(config, sizes);
  const auto window = config.count({"sliding_window"}, "window");
  if (!window) return all_full(sizes);
  CacheSpec spec;
  spec.add(window_layer(sizes, *window), sizes.layers);
  return spec;
}

// Qwen: a window counts only where use_sliding_window is true, and then from max_window_layers on.
CacheSpec window_if_used(ConfigReader& config, const HfFamily& family) {
  const HfSizes sizes = read_hf_sizes(config, family);
  const bool used = config.flag("use_sliding_window").value_or(false);
  const auto first = config.number("max_window_layers");
  if (config.has("layer_types")) return by_layer_types(config, sizes);
  const auto window = config.number("sliding_window");
  if (!used || !window) return all_full(sizes);
  if (!first || *window < 1) {
    config.refuse("uses a window and does not say in which layers (no 'max_window_layers')");
  }
  const Index full = std::min(*first, sizes.layers);
  config.note("window", *window, fmt::format("sliding_window, from layer {} on", full));
  CacheSpec spec;
  if (full > 0) spec.add(full_layer(sizes), full);
  if (full < sizes.layers) spec.add(window_layer(sizes, *window), sizes.layers - full);
  return spec;
}

// Gemma 2, Gemma 3 and Cohere 2 by the distance of their full layers, which files may leave out.
template <Index kDistance>
CacheSpec window_between(ConfigReader& config, const HfFamily& family) {
  const HfSizes sizes = read_hf_sizes(config, family);
  if (config.has("layer_types")) return by_layer_types(config, sizes);
  const auto stated = config.count({"sliding_window_pattern"}, "distance of full layers");
  return every_nth_full(config, sizes, stated.value_or(kDistance));
}

// What slides is stated layer by layer.
CacheSpec stated_layer_types(ConfigReader& config, const HfFamily& family) {
  const HfSizes sizes = read_hf_sizes(config, family);
  if (!config.has("layer_types")) config.refuse("does not say which layers slide ('layer_types')");
  return by_layer_types(config, sizes);
}

// Falcon: multi_query means one head, unless the new architecture gives num_kv_heads a meaning.
CacheSpec falcon(ConfigReader& config, const HfFamily& family) {
  HfSizes sizes = read_hf_sizes(config, family);
  const bool grouped = config.flag("new_decoder_architecture").value_or(false);
  const bool one = config.flag("multi_query").value_or(true);
  if (!grouped) {
    sizes.kv_heads = one ? 1 : sizes.heads;
    config.note("kv heads", sizes.kv_heads, one ? "multi_query" : "no multi_query");
  } else if (!config.has("num_kv_heads")) {
    config.refuse("has the new decoder architecture and no 'num_kv_heads'");
  }
  return all_full(sizes);
}

// GPT-BigCode: one head unless multi_query is false.
CacheSpec bigcode(ConfigReader& config, const HfFamily& family) {
  HfSizes sizes = read_hf_sizes(config, family);
  if (config.flag("multi_query").value_or(true)) {
    sizes.kv_heads = 1;
    config.note("kv heads", 1, "multi_query");
  }
  return all_full(sizes);
}

// MPT and DBRX keep their key-value heads in attn_config; DBRX means one where it says nothing.
CacheSpec nested_kv_heads(ConfigReader& config, const HfFamily& family) {
  HfFamily by_heads = family;
  by_heads.one_kv_head_each = true;
  HfSizes sizes = read_hf_sizes(config, by_heads);
  Index kv_heads = 0;
  std::string type;
  if (auto attention = config.object("attn_config")) {
    kv_heads = attention->count({"kv_n_heads"}, "kv heads").value_or(0);
    type = attention->text("attn_type").value_or("");
  }
  if (kv_heads > 0) {
    sizes.kv_heads = kv_heads;
    config.note("kv heads", kv_heads, "attn_config.kv_n_heads");
  } else if (type == "multiquery_attention") {
    sizes.kv_heads = 1;
    config.note("kv heads", 1, "attn_config.attn_type");
  } else if (!family.one_kv_head_each || type == "grouped_query_attention") {
    config.refuse("says nothing about kv heads (no 'attn_config.kv_n_heads')");
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    config.refuse(fmt::format("{} kv heads do not divide {} heads", sizes.kv_heads, sizes.heads));
  }
  return all_full(sizes);
}

// ChatGLM: groups where multi_query_attention is true; features of a head are kv_channels.
CacheSpec chatglm(ConfigReader& config, const HfFamily& family) {
  HfSizes sizes = read_hf_sizes(config, family);
  if (config.flag("multi_query_attention").value_or(false)) {
    sizes.kv_heads = config.required_count({"multi_query_group_num"}, "kv heads");
  }
  config.ignore("multi_query_group_num");
  sizes.head_dim = config.count({"kv_channels"}, "head dim").value_or(sizes.head_dim);
  return all_full(sizes);
}

// Multi-head latent attention: one row a token and layer, of the compressed keys and values and
// the rotated part of the key. There is no factor 2, and num_key_value_heads means nothing.
CacheSpec latent(ConfigReader& config, const HfFamily&) {
  const Index layers = config.required_count({"num_hidden_layers"}, "layers");
  const Index compressed = config.required_count({"kv_lora_rank"}, "latent width");
  const Index rotated = config.required_count({"qk_rope_head_dim"}, "rotated width");
  config.ignore("v_head_dim");
  CacheSpec spec;
  spec.add({.kv_heads = 1, .key_dim = compressed + rotated, .value_dim = 0}, layers);
  return spec;
}

constexpr bool kEachHead = true;
constexpr bool kStated = false;
constexpr bool kWidthOverHeads = false;
constexpr bool kStatesHeadDim = true;

constexpr std::array kFamilies = {
    HfFamily{"", kEachHead, kWidthOverHeads, plain},
    HfFamily{"baichuan", kEachHead, kWidthOverHeads, plain},
    HfFamily{"bloom", kEachHead, kWidthOverHeads, plain},
    HfFamily{"chatglm", kEachHead, kWidthOverHeads, chatglm},
    HfFamily{"codegen", kEachHead, kWidthOverHeads, plain},
    HfFamily{"cohere", kEachHead, kWidthOverHeads, plain},
    HfFamily{"cohere2", kEachHead, kWidthOverHeads, window_between<4>},
    HfFamily{"dbrx", kStated, kWidthOverHeads, nested_kv_heads},
    HfFamily{"deepseek_v2", kStated, kWidthOverHeads, latent},
    HfFamily{"deepseek_v3", kStated, kWidthOverHeads, latent},
    HfFamily{"exaone4", kStated, kWidthOverHeads, stated_layer_types},
    HfFamily{"falcon", kEachHead, kWidthOverHeads, falcon},
    HfFamily{"gemma", kStated, kStatesHeadDim, plain},
    HfFamily{"gemma2", kStated, kStatesHeadDim, window_between<2>},
    HfFamily{"gemma3_text", kStated, kStatesHeadDim, window_between<6>},
    HfFamily{"gpt2", kEachHead, kWidthOverHeads, plain},
    HfFamily{"gpt_bigcode", kEachHead, kWidthOverHeads, bigcode},
    HfFamily{"gpt_neox", kEachHead, kWidthOverHeads, plain},
    HfFamily{"gpt_oss", kStated, kStatesHeadDim, stated_layer_types},
    HfFamily{"gptj", kEachHead, kWidthOverHeads, plain},
    HfFamily{"granite", kEachHead, kWidthOverHeads, plain},
    HfFamily{"internlm", kEachHead, kWidthOverHeads, plain},
    HfFamily{"internlm2", kEachHead, kWidthOverHeads, plain},
    HfFamily{"kimi_k2", kStated, kWidthOverHeads, latent},
    HfFamily{"llama", kEachHead, kWidthOverHeads, plain},
    HfFamily{"ministral3", kStated, kWidthOverHeads, window_everywhere},
    HfFamily{"mistral", kStated, kWidthOverHeads, window_everywhere},
    HfFamily{"mixtral", kStated, kWidthOverHeads, window_everywhere},
    HfFamily{"mpt", kEachHead, kWidthOverHeads, nested_kv_heads},
    HfFamily{"olmo", kEachHead, kWidthOverHeads, plain},
    HfFamily{"olmo2", kEachHead, kWidthOverHeads, plain},
    HfFamily{"olmo3", kEachHead, kWidthOverHeads, stated_layer_types},
    HfFamily{"opt", kEachHead, kWidthOverHeads, plain},
    HfFamily{"phi", kEachHead, kWidthOverHeads, plain},
    HfFamily{"phi3", kEachHead, kWidthOverHeads, window_everywhere},
    HfFamily{"qwen2", kStated, kWidthOverHeads, window_if_used},
    HfFamily{"qwen2_5_vl", kStated, kWidthOverHeads, window_if_used},
    HfFamily{"qwen2_moe", kStated, kWidthOverHeads, window_if_used},
    HfFamily{"qwen2_vl", kStated, kWidthOverHeads, window_if_used},
    HfFamily{"qwen3", kStated, kStatesHeadDim, window_if_used},
    HfFamily{"qwen3_moe", kStated, kStatesHeadDim, window_if_used},
    HfFamily{"smollm3", kStated, kWidthOverHeads, window_if_used},
    HfFamily{"stablelm", kStated, kWidthOverHeads, plain},
    HfFamily{"starcoder2", kStated, kWidthOverHeads, window_everywhere},
};

}  // namespace

const HfFamily* hf_family(std::string_view model_type) {
  for (const HfFamily& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

}  // namespace attn
