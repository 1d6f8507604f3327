// Families some of whose layers keep a window.
// Sources: transformers src/transformers/cache_utils.py@004999d and the configuration files of
// mistral, gemma2, gemma3, cohere2, qwen2, gpt_oss; layer_types of EXAONE-4: tenstorrent tt-metal
// model_params; GPT-OSS: ai-dynamo/aiconfigurator model_configs; all defaults, OLMo-3, SmolLM3,
// Laguna, CWM, AFMoE, Cohere2-MoE: the configuration classes of transformers 5.24.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "sizing/families/family.h"

namespace attn {
namespace {

// A window that is not null holds for all layers.
CacheSpec window_everywhere(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index window = read_window(config, family);
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return layers_by_words(config, *words, sizes, window);
  }
  if (window < 1) return all_full(sizes);
  CacheSpec spec;
  spec.add(window_layer(sizes, window), sizes.layers);
  return spec;
}

// A window, where there is a used one, from max_window_layers on.
CacheSpec window_from(ConfigReader& config, const Family& family, bool used, Index standard) {
  const Sizes sizes = read_sizes(config, family);
  config.ignore("max_window_layers");
  config.ignore("sliding_window");
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    const bool slides =
        std::find(words->begin(), words->end(), "sliding_attention") != words->end();
    if (slides && !used) {
      config.refuse("'layer_types' has sliding layers and 'use_sliding_window' is not true");
    }
    return layers_by_words(config, *words, sizes, slides ? read_window(config, family) : 0);
  }
  if (!used) return all_full(sizes);
  const Index window = read_window(config, family);
  if (window < 1) return all_full(sizes);
  const Index full = std::min(config.number("max_window_layers").value_or(standard), sizes.layers);
  if (!config.has("max_window_layers")) {
    config.note("full layers", full, fmt::format("default of {}", family.defaults.name));
  }
  config.note("window", window, fmt::format("sliding_window, from layer {} on", full));
  CacheSpec spec;
  spec.add(full_layer(sizes), full);
  spec.add(window_layer(sizes, window), sizes.layers - full);
  return spec;
}

// Qwen: a window counts only where use_sliding_window is true.
CacheSpec window_if_used(ConfigReader& config, const Family& family) {
  return window_from(config, family, config.flag("use_sliding_window").value_or(false), 28);
}

// Qwen2-MoE: its class and its code disagree on which layers slide.
CacheSpec window_if_listed(ConfigReader& config, const Family& family) {
  const bool used = config.flag("use_sliding_window").value_or(false);
  if (used && !config.has("layer_types") && !config.is_null("sliding_window")) {
    config.refuse("slides ('use_sliding_window') and does not say where ('layer_types')");
  }
  return window_if_used(config, family);
}

// Qwen3-MoE: a used window counts for all layers; max_window_layers is not looked at.
CacheSpec window_of_all_if_used(ConfigReader& config, const Family& family) {
  config.ignore("max_window_layers");
  config.ignore("sliding_window");
  if (config.flag("use_sliding_window").value_or(false)) return window_everywhere(config, family);
  Family unused = family;
  unused.defaults.window = 0;
  return window_from(config, unused, false, 0);
}

// dots.llm1: a window counts from max_window_layers on, which its class sets to all its layers.
template <Index kStandard>
CacheSpec window_from_layer(ConfigReader& config, const Family& family) {
  return window_from(config, family, config.flag("use_sliding_window").value_or(true), kStandard);
}

// SmolLM3: only layers without rope slide, and only where use_sliding_window is true.
CacheSpec smollm3(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  for (const char* key : {"sliding_window", "max_window_layers"}) config.ignore(key);
  const auto words = read_layer_words(config, "layer_types", sizes.layers);
  if (words) return layers_by_words(config, *words, sizes, read_window(config, family));
  const Index window = read_window(config, family);
  if (window < 1 || !config.flag("use_sliding_window").value_or(false)) return all_full(sizes);
  const auto rope =
      read_rope_layers(config, family, sizes.layers, "distance of layers without rope");
  CacheSpec spec;
  for (const Index has_rope : rope) {
    spec.add(has_rope == 0 ? window_layer(sizes, window) : full_layer(sizes));
  }
  return spec;
}

// Layers 0, 4, 8 ... full, the others over the window.
CacheSpec first_of_four_full(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index window = read_window(config, family);
  if (const auto words = read_layer_words(config, "layer_types", sizes.layers)) {
    return layers_by_words(config, *words, sizes, window);
  }
  if (window < 1) return all_full(sizes);
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add(i % 4 == 0 ? full_layer(sizes) : window_layer(sizes, window));
  }
  return spec;
}

// AFMoE (Trinity): every n-th layer full, by global_attn_every_n_layers.
CacheSpec global_every_n(ConfigReader& config, const Family& family) {
  const Index n = config.count_or({"global_attn_every_n_layers"}, "distance of full layers",
                                  {4, family.defaults.name});
  return every_nth_full(config, family, n);
}

// Every n-th layer full; n is the class's where the file leaves it out, as most do.
template <Index kDistance>
CacheSpec window_between(ConfigReader& config, const Family& family) {
  Index distance = kDistance;
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    if (!config.has(key) || config.has("layer_types")) continue;
    distance = config.required_count({key}, "distance of full layers");
  }
  return every_nth_full(config, family, distance);
}

// Cohere's mixture: the first dense layers have a pattern of their own, which the file may leave
// out; only layer_types tells them apart for certain.
CacheSpec cohere2_moe(ConfigReader& config, const Family& family) {
  if (!config.has("layer_types") && config.number("first_k_dense_replace").value_or(0) > 0) {
    config.refuse("has dense layers in front and does not say which layers slide ('layer_types')");
  }
  return window_between<4>(config, family);
}

// EXAONE-4: the pattern is a number or a word such as LLLG, a letter for each layer, repeated.
CacheSpec exaone4(ConfigReader& config, const Family& family) {
  if (config.has("layer_types") || !config.has("sliding_window_pattern")) {
    return every_nth_full(config, family, 4);
  }
  const auto letters = config.letters("sliding_window_pattern");
  if (!letters) return window_between<4>(config, family);
  const Sizes sizes = read_sizes(config, family);
  const Index window = read_window(config, family);
  if (window < 1) return all_full(sizes);
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    const char letter = (*letters)[static_cast<std::size_t>(i) % letters->size()];
    if (letter != 'L' && letter != 'G') {
      config.refuse(fmt::format("'sliding_window_pattern' has letters other than L and G: '{}'",
                                escaped(*letters)));
    }
    spec.add(letter == 'G' ? full_layer(sizes) : window_layer(sizes, window));
  }
  return spec;
}

constexpr ClassDefaults kQwen2 = {"Qwen2Config", 32, 32, 4096, 32, 0, 4096};
constexpr ClassDefaults kQwen3 = {"Qwen3Config", 32, 32, 4096, 32, 128, 4096};
constexpr ClassDefaults kGemma3 = {"Gemma3TextConfig", 26, 8, 2304, 4, 256, 4096};
constexpr ClassDefaults kMistral = {"MistralConfig", 32, 32, 4096, 8, 0, 4096};

constexpr std::array kFamilies = {
    Family{"afmoe", {"AfmoeConfig", 32, 16, 2048, 0, 128, 1024}, global_every_n},
    Family{"cohere2", {"Cohere2Config", 40, 64, 8192, 0, 0, 4096}, window_between<4>},
    Family{"cohere2_moe", {"Cohere2MoeConfig", 40, 64, 8192, 0, 128, 4096}, cohere2_moe},
    Family{"cwm", {"CwmConfig", 64, 48, 6144, 8, 128, 8192}, first_of_four_full},
    Family{"dots1", {"Dots1Config", 62, 32, 4608, 32, 0, 4096}, window_from_layer<62>},
    Family{"exaone4", {"Exaone4Config", 32, 32, 4096, 32, 0, 4096}, exaone4},
    Family{"exaone_moe", {"ExaoneMoeConfig", 32, 32, 4096, 32, 0, 4096}, exaone4},
    Family{"gemma2", {"Gemma2Config", 26, 8, 2304, 4, 256, 4096}, window_between<2>},
    Family{"gemma3_text", kGemma3, window_between<6>},
    Family{"granite_swa", {"GraniteSWAConfig", 24, 20, 2560, 4, 0, 128}, first_of_four_full},
    Family{"granitemoe_swa", {"GraniteMoeSWAConfig", 32, 32, 4096, 0, 0, 128}, first_of_four_full},
    Family{"gpt_oss", {"GptOssConfig", 36, 64, 2880, 8, 64, 128}, window_between<2>},
    Family{"laguna", {"LagunaConfig", 40, 48, 2048, 8, 128, 512}, plain_rule},
    Family{"llava_mistral", kMistral, window_everywhere},
    Family{"llava_qwen", kQwen2, window_if_used},
    Family{"mellum", {"MellumConfig", 28, 32, 2304, 4, 128, 1024}, plain_rule},
    Family{"ministral", kMistral, window_everywhere},
    Family{"ministral3", {"Ministral3Config", 34, 32, 4096, 8, 128}, window_everywhere},
    Family{"mistral", kMistral, window_everywhere},
    Family{"mixtral", {"MixtralConfig", 32, 32, 4096, 8}, window_everywhere},
    Family{"olmo3", {"Olmo3Config", 32, 32, 4096, 0, 0, 4096}, window_between<4>},
    Family{"phi3", {"Phi3Config", 32, 32, 3072}, window_everywhere},
    Family{"phi3_v", {"Phi3VConfig", 32, 32, 3072}, window_everywhere},
    Family{"phi3small", {}, plain_rule},
    Family{"phi4mm", {"Phi4MMConfig", 32, 32, 3072}, window_everywhere},
    Family{"phi4_multimodal", {"Phi4MultimodalConfig", 32, 32, 3072, 8}, window_everywhere},
    Family{"phimoe", {"PhimoeConfig", 32, 32, 4096, 8}, window_everywhere},
    Family{"mimo", kQwen2, window_if_used},
    Family{"qwen2", kQwen2, window_if_used},
    Family{
        "qwen2_5_omni_text", {"Qwen2_5OmniTextConfig", 28, 28, 3584, 4, 0, 32768}, window_if_used},
    Family{"qwen2_5_vl", {"Qwen2_5_VLConfig", 80, 64, 8192, 8, 0, 4096}, window_if_used},
    Family{"qwen2_5_vl_text", {"Qwen2_5_VLTextConfig", 80, 64, 8192, 8, 0, 4096}, window_if_used},
    Family{"qwen2_moe", {"Qwen2MoeConfig", 24, 16, 2048, 16, 0, 4096}, window_if_listed},
    Family{"qwen2_vl", {"Qwen2VLConfig", 80, 64, 8192, 8, 0, 4096}, window_if_used},
    Family{"qwen2_vl_text", {"Qwen2VLTextConfig", 80, 64, 8192, 8, 0, 4096}, window_if_used},
    Family{"qwen3", kQwen3, window_if_used},
    Family{"qwen3_moe", {"Qwen3MoeConfig", 24, 32, 2048, 4, kMustSay, 4096}, window_of_all_if_used},
    Family{"qwen3_omni_moe_text",
           {"Qwen3OmniMoeTextConfig", 28, 28, 2048, 4, kMustSay, 4096},
           window_of_all_if_used},
    Family{
        "qwen3_vl_moe_text", {"Qwen3VLMoeTextConfig", 24, 16, 2048, 16, kMustSay}, window_if_used},
    Family{"qwen3_vl_text", {"Qwen3VLTextConfig", 32, 32, 4096, 32, 128}, window_if_used},
    Family{"smollm3", {"SmolLM3Config", 36, 16, 2048, 4}, smollm3},
    Family{"starcoder2", {"Starcoder2Config", 30, 24, 3072, 2}, window_everywhere},
    Family{
        "t5_gemma_module", {"T5GemmaModuleConfig", 26, 8, 2304, 4, 256, 4096}, window_between<2>},
    Family{"vaultgemma", {"VaultGemmaConfig", 26, 8, 2304, 4, 256, 4096}, window_between<2>},
};

}  // namespace

std::span<const Family> window_families() {
  return kFamilies;
}

}  // namespace attn
