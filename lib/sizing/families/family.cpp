#include "sizing/families/family.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace attn {

Index read_layers(ConfigReader& config, const Family& family) {
  constexpr Index kMostLayers = 1'000'000;  // rules walk over them one by one
  config.require_same({"num_hidden_layers", "n_layer", "n_layers", "num_layers"});
  const Index layers = config.count_or(
      {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers"},
      "layers", {family.defaults.layers, family.defaults.name});
  if (layers > kMostLayers) {
    config.refuse(fmt::format("has {} layers, more than any model", layers));
  }
  return layers;
}

Index read_heads(ConfigReader& config, const Family& family) {
  config.require_same({"num_attention_heads", "n_head", "n_heads", "num_heads"});
  return config.count_or(
      {"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"}, "heads",
      {family.defaults.heads, family.defaults.name});
}

Index read_width(ConfigReader& config, const Family& family) {
  config.require_same({"hidden_size", "n_embd", "n_embed", "d_model", "model_dim"});
  return config.count_or({"hidden_size", "n_embd", "n_embed", "d_model", "model_dim"}, "width",
                         {family.defaults.width, family.defaults.name});
}

Index read_head_dim(ConfigReader& config, const Family& family, Index heads) {
  const bool unset = config.number("head_dim").value_or(1) == 0;  // some files mean "unset" by 0
  const auto stated =
      unset ? std::nullopt
            : config.count({"head_dim", "hidden_size_per_head", "attention_head_dim"}, "head dim");
  if (stated) return *stated;
  const bool must = family.defaults.head_dim == kMustSay;
  if (family.defaults.head_dim != 0 && !config.is_null("head_dim") && !unset) {
    if (must) {
      config.refuse(
          fmt::format("says nothing about features of a head (no 'head_dim'), and for {} "
                      "they are not width / heads",
                      family.model_type));
    }
    return config.count_or({"head_dim"}, "head dim",
                           {family.defaults.head_dim, family.defaults.name});
  }
  const Index width = read_width(config, family);
  if (width % heads != 0) {
    config.refuse(fmt::format("{} heads do not divide the width {}, and there is no 'head_dim'",
                              heads, width));
  }
  config.note("head dim", width / heads, fmt::format("width / heads = {} / {}", width, heads));
  return width / heads;
}

Sizes read_sizes(ConfigReader& config, const Family& family) {
  Sizes sizes;
  sizes.layers = read_layers(config, family);
  sizes.heads = read_heads(config, family);
  const auto kv_heads = config.count({"num_key_value_heads", "num_kv_heads", "n_head_kv",
                                      "n_kv_heads", "num_attention_groups", "num_query_groups"},
                                     "kv heads");
  if (kv_heads) {
    sizes.kv_heads = *kv_heads;
  } else if (family.defaults.kv_heads > 0 && !config.is_null("num_key_value_heads")) {
    sizes.kv_heads = config.count_or({"num_key_value_heads"}, "kv heads",
                                     {family.defaults.kv_heads, family.defaults.name});
  } else if (family.defaults.kv_heads == kMustSay && !config.is_null("num_key_value_heads")) {
    config.refuse(
        fmt::format("says nothing about kv heads (no 'num_key_value_heads'), and {} does "
                    "not mean one for each head by that",
                    family.model_type));
  } else {
    sizes.kv_heads = sizes.heads;
    config.note("kv heads", sizes.heads, "one for each head: no 'num_key_value_heads'");
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    config.refuse(fmt::format("{} kv heads do not divide {} heads", sizes.kv_heads, sizes.heads));
  }
  sizes.head_dim = read_head_dim(config, family, sizes.heads);
  return sizes;
}

CacheSpec all_full(const Sizes& sizes) {
  CacheSpec spec;
  spec.add(full_layer(sizes), sizes.layers);
  return spec;
}

Index read_window(ConfigReader& config, const Family& family) {
  constexpr std::array kKeys = {"sliding_window", "sliding_window_size", "attention_window_size"};
  for (const char* key : kKeys) config.ignore(key);
  for (const char* key : kKeys) {
    if (config.has(key)) {
      const Index window = *config.number(key);
      if (window > 0) config.note("window", window, key);
      return window;
    }
    if (config.is_null(key)) return 0;
  }
  if (family.defaults.window > 0) {
    config.note("window", family.defaults.window,
                fmt::format("default of {}", family.defaults.name));
  }
  return family.defaults.window;
}

std::vector<Index> read_rope_layers(ConfigReader& config, const Family& family, Index layers,
                                    const char* distance) {
  auto rope = config.numbers("no_rope_layers").value_or(std::vector<Index>{});
  if (rope.empty()) {
    const Index n =
        config.count_or({"no_rope_layer_interval"}, distance, {4, family.defaults.name});
    for (Index i = 0; i < layers; ++i) rope.push_back((i + 1) % n == 0 ? 0 : 1);
  }
  if (static_cast<Index>(rope.size()) != layers) {
    config.refuse(
        fmt::format("'no_rope_layers' has {} entries for {} layers", rope.size(), layers));
  }
  return rope;
}

std::optional<std::vector<std::string>> read_layer_words(ConfigReader& config, const char* key,
                                                         Index layers) {
  auto words = config.words(key);
  if (words && static_cast<Index>(words->size()) != layers) {
    config.refuse(fmt::format("'{}' has {} entries for {} layers", key, words->size(), layers));
  }
  if (words) config.note("layers", layers, key);
  return words;
}

CacheSpec layers_by_words(ConfigReader& config, const std::vector<std::string>& words,
                          const Sizes& sizes, Index window, const OtherLayer& other) {
  const auto is = [](const std::string& word, std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), word) != names.end();
  };
  CacheSpec spec;
  for (const std::string& word : words) {
    if (const auto layer = other ? other(word) : std::nullopt) {
      spec.add(*layer);
    } else if (is(word, {"full_attention", "attention", "full", "global", "global_attention"})) {
      spec.add(full_layer(sizes));
    } else if (is(word, {"sliding_attention", "sliding", "local", "local_attention"})) {
      if (window < 1) config.refuse("has sliding layers and no 'sliding_window'");
      spec.add(window_layer(sizes, window));
    } else if (word == "chunked_attention") {
      const Index chunk = config.required_count({"attention_chunk_size"}, "the chunk");
      spec.add(chunk_layer(sizes.kv_heads, sizes.head_dim, sizes.head_dim, chunk));
    } else {
      config.refuse(
          fmt::format("'layer_types' has a kind that is not supported: '{}'", escaped(word)));
    }
  }
  return spec;
}

CacheSpec every_nth_full(ConfigReader& config, const Family& family, Index n) {
  const Sizes sizes = read_sizes(config, family);
  const Index window = read_window(config, family);
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) config.ignore(key);
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return layers_by_words(config, *words, sizes, window);
  }
  if (window < 1) return all_full(sizes);
  config.note("distance of full layers", n, fmt::format("rule of {}", family.model_type));
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add((i + 1) % n == 0 ? full_layer(sizes) : window_layer(sizes, window));
  }
  return spec;
}

CacheSpec plain_rule(ConfigReader& config, const Family& family) {
  for (const char* key : {"num_key_value_heads", "num_key_value_heads_per_layer", "num_kv_heads"}) {
    if (!config.is_list(key)) continue;
    // Heads layer by layer: Molmo-like and DeciLM files.
    const std::vector<Index> each = *config.numbers(key);
    const Index layers = read_layers(config, family);
    if (static_cast<Index>(each.size()) != layers) {
      config.refuse(fmt::format("'{}' has {} entries for {} layers", key, each.size(), layers));
    }
    const Index head_dim = read_head_dim(config, family, read_heads(config, family));
    CacheSpec spec;
    Index sum = 0;
    for (const Index kv_heads : each) {
      sum += kv_heads;
      spec.add(kv_heads > 0 ? full_layer(kv_heads, head_dim, head_dim)
                            : LayerCache{.kind = "no attention"});
    }
    config.note("kv heads", sum, fmt::format("{}, all layers together", key));
    return spec;
  }
  const Sizes sizes = read_sizes(config, family);
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return layers_by_words(config, *words, sizes, read_window(config, family));
  }
  return all_full(sizes);
}

namespace {

std::vector<std::span<const Family>> all_families() {
  return {plain_families(),
          head_rule_families(),
          window_families(),
          own_window_families(),
          latent_families(),
          hybrid_families(),
          linear_attention_families(),
          recurrent_families(),
          sharing_families(),
          encoder_decoder_families()};
}

}  // namespace

const Family* find_family(std::string_view model_type) {
  for (const auto families : all_families()) {
    for (const Family& family : families) {
      if (family.model_type == model_type) return &family;
    }
  }
  return nullptr;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const auto families : all_families()) {
    for (const Family& family : families) {
      if (!family.model_type.empty()) names.emplace_back(family.model_type);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace attn
