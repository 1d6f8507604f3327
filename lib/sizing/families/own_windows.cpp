// Families whose windows or chunks have a rule of their own.
// Sources: Llama-4: transformers configuration_llama4.py, ai-dynamo/aiconfigurator model_configs;
// MiMo-V2: vllm model_arch_config_convertor.py; Step 3.5: transformers 5.24
// configuration_step3p7.py, mlx-lm step3p5.py; GPT-Neo: configuration_gpt_neo.py.

#include <fmt/core.h>

#include <array>

#include "sizing/families/family.h"

namespace attn {
namespace {

// Llama 4: layers without rope attend to everything, every fourth; the others to chunks.
CacheSpec llama4(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  Index chunk = 0;
  if (!config.is_null("attention_chunk_size")) {
    chunk = config.count_or({"attention_chunk_size"}, "chunk", {8192, family.defaults.name});
  }
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return layers_by_words(config, *words, sizes, 0);
  }
  const auto rope = read_rope_layers(config, family, sizes.layers, "distance of full layers");
  CacheSpec spec;
  for (const Index has_rope : rope) {
    spec.add(has_rope == 0 || chunk == 0
                 ? full_layer(sizes)
                 : chunk_layer(sizes.kv_heads, sizes.head_dim, sizes.head_dim, chunk));
  }
  return spec;
}

// MiMo-V2: hybrid_layer_pattern has 0 for full and 1 for sliding layers; these have other heads,
// and a value is not as wide as a key. attention_chunk_size means nothing there.
CacheSpec mimo_v2(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  config.ignore("attention_chunk_size");
  const Index value_dim = config.count({"v_head_dim"}, "value dim").value_or(sizes.head_dim);
  const Index swa_heads =
      config.count({"swa_num_key_value_heads"}, "kv heads, window").value_or(sizes.kv_heads);
  const Index swa_key = config.count({"swa_head_dim"}, "head dim, window").value_or(sizes.head_dim);
  const Index swa_value = config.count({"swa_v_head_dim"}, "value dim, window").value_or(value_dim);
  const auto pattern = config.numbers("hybrid_layer_pattern");
  if (!pattern) config.refuse("does not say which layers slide ('hybrid_layer_pattern')");
  if (static_cast<Index>(pattern->size()) != sizes.layers) {
    config.refuse(fmt::format("'hybrid_layer_pattern' has {} entries for {} layers",
                              pattern->size(), sizes.layers));
  }
  const Index window = read_window(config, family);
  config.ignore("sliding_window");
  config.ignore("sliding_window_size");
  if (window < 1) config.refuse("has sliding layers and no 'sliding_window'");
  CacheSpec spec;
  for (const Index slides : *pattern) {
    if (slides > 1) {
      config.refuse(fmt::format("'hybrid_layer_pattern' has {}, neither 0 nor 1", slides));
    }
    spec.add(slides == 0 ? full_layer(sizes.kv_heads, sizes.head_dim, value_dim)
                         : window_layer(swa_heads, swa_key, swa_value, window));
  }
  return spec;
}

// Step 3.5: layers of the kind named in attention_other_setting have heads of their own.
CacheSpec step35(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  // Published files list the layers that predict further tokens behind the others.
  const auto further =
      static_cast<std::size_t>(config.number("num_nextn_predict_layers").value_or(0));
  auto words = config.words("layer_types");
  if (!words) config.refuse("does not say which layers slide ('layer_types')");
  if (words->size() == static_cast<std::size_t>(sizes.layers) + further) {
    words->resize(static_cast<std::size_t>(sizes.layers));
  }
  if (words->size() != static_cast<std::size_t>(sizes.layers)) {
    config.refuse(
        fmt::format("'layer_types' has {} entries for {} layers", words->size(), sizes.layers));
  }
  const Index window = read_window(config, family);
  auto other = config.object("attention_other_setting");
  if (!other) return layers_by_words(config, *words, sizes, window);
  if (other->text("attention_type").value_or("") != "sliding_attention" || window < 1) {
    config.refuse("'attention_other_setting' is not about sliding layers");
  }
  Sizes sliding = sizes;
  sliding.kv_heads = other->required_count({"num_attention_groups"}, "kv heads, window");
  sliding.head_dim = other->count({"head_dim"}, "head dim, window").value_or(sizes.head_dim);
  config.note("kv heads, window", sliding.kv_heads, "attention_other_setting.num_attention_groups");
  return layers_by_words(config, *words, sizes, window,
                         [&](const std::string& word) -> std::optional<LayerCache> {
                           if (word != "sliding_attention") return std::nullopt;
                           return window_layer(sliding, window);
                         });
}

// GPT-Neo: attention_layers is the list; attention_types [[["global", "local"], 12]] repeats words.
CacheSpec gpt_neo(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index window = config.count_or({"window_size"}, "window", {256, family.defaults.name});
  if (const auto words = read_layer_words(config, "attention_layers", sizes.layers)) {
    config.ignore("attention_types");
    return layers_by_words(config, *words, sizes, window);
  }
  if (config.has("attention_types")) {
    const auto words = config.repeated_words("attention_types");
    if (static_cast<Index>(words.size()) != sizes.layers) {
      config.refuse(fmt::format("'attention_types' has {} entries for {} layers", words.size(),
                                sizes.layers));
    }
    return layers_by_words(config, words, sizes, window);
  }
  config.note("window", window, "every second layer, by default of GPTNeoConfig");
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add(i % 2 == 0 ? full_layer(sizes) : window_layer(sizes, window));
  }
  return spec;
}

constexpr std::array kFamilies = {
    Family{"gpt_neo", {"GPTNeoConfig", 24, 16, 2048}, gpt_neo},
    Family{"llama4_text", {"Llama4TextConfig", 48, 40, 5120, 8, 128}, llama4},
    Family{"mimo_v2", {}, mimo_v2},
    Family{"mimo_v2_flash", {}, mimo_v2},
    Family{"step3p5", {"Step3p7TextConfig", 45, 64, 4096, 8, 128}, step35},
    Family{"step3p7", {"Step3p7TextConfig", 45, 64, 4096, 8, 128}, step35},
};

}  // namespace

std::span<const Family> own_window_families() {
  return kFamilies;
}

}  // namespace attn
