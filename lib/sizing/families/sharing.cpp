// Families in which layers use the keys and values of other layers.
// Sources: Gemma-3n, Gemma-4: transformers configuration_gemma3n.py, configuration_gemma4.py (the
// global heads count only where attention_k_eq_v is set), allocations in ollama#16958 and
// qualcomm/GenieX#1346; Hunyuan: LMCache examples/kv_cache_calculator/modelconfig.json;
// Phi-4-mini-flash: its configuration_phi4flash.py.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sizing/families/family.h"
#include "sizing/families/state.h"

namespace attn {
namespace {

// Cuts the last `shared` layers off: they read what earlier ones wrote. 0 shares nothing.
CacheSpec without_shared(ConfigReader& config, const CacheSpec& spec, Index shared) {
  const Index layers = spec.layer_count();
  if (shared >= layers) {
    config.refuse(fmt::format("'num_kv_shared_layers' is {} of {} layers", shared, layers));
  }
  Index own = layers - shared;
  CacheSpec cut;
  for (const LayerRun& run : spec.layers) {
    const Index kept = std::min(run.count, own);
    cut.add(run.layer, kept);
    own -= kept;
  }
  cut.add({.kind = "shares an earlier layer's"}, shared);
  return cut;
}

Index shared_layers(ConfigReader& config, Index standard, const Family& family) {
  const auto stated = config.number("num_kv_shared_layers");
  if (stated) {
    config.note("layers that share", *stated, "num_kv_shared_layers");
  } else if (standard > 0) {
    config.note("layers that share", standard, fmt::format("default of {}", family.defaults.name));
  }
  return stated.value_or(standard);
}

CacheSpec gemma3n(ConfigReader& config, const Family& family) {
  const CacheSpec spec = every_nth_full(config, family, 5);
  return without_shared(config, spec, shared_layers(config, 15, family));
}

// Gemma 4: layers that see everything have their own head size and, where keys are also values,
// their own number of key-value heads; both are stored all the same.
CacheSpec gemma4(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  Sizes global = sizes;
  global.head_dim =
      config.count_or({"global_head_dim"}, "head dim, full layers", {512, family.defaults.name});
  const auto global_heads = config.number("num_global_key_value_heads");
  const bool keys_are_values = config.flag("attention_k_eq_v").value_or(false);
  if (global_heads && *global_heads > 0 && keys_are_values) {
    global.kv_heads = *global_heads;
    config.note("kv heads, full layers", global.kv_heads, "num_global_key_value_heads");
  }
  const Index window = read_window(config, family);
  auto words = read_layer_words(config, "layer_types", sizes.layers);
  if (!words) {
    words.emplace();
    for (Index i = 0; i < sizes.layers; ++i) {
      words->emplace_back((i + 1) % 6 == 0 ? "full_attention" : "sliding_attention");
    }
    config.note("distance of full layers", 6, fmt::format("default of {}", family.defaults.name));
  }
  words->back() = "full_attention";  // its class sets it, whatever the file says
  const CacheSpec spec = layers_by_words(config, *words, sizes, window,
                                         [&](const std::string& word) -> std::optional<LayerCache> {
                                           if (word == "full_attention") return full_layer(global);
                                           return std::nullopt;
                                         });
  return without_shared(config, spec, shared_layers(config, 0, family));
}

// Cross-layer attention: of every `factor` layers the first writes for all.
CacheSpec hunyuan(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const bool shares = config.flag("use_cla").value_or(false);
  config.ignore("cla_share_factor");
  if (!shares) return all_full(sizes);
  const Index factor = config.required_count({"cla_share_factor"}, "layers that share");
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    spec.add(i % factor == 0 ? full_layer(sizes) : LayerCache{.kind = "shares an earlier layer's"});
  }
  return spec;
}

// SambaY: even layers are Mamba, odd ones of the first half attend to a window, the one behind the
// half to everything; the odd ones after it read that one's keys and values.
CacheSpec phi4flash(ConfigReader& config, const Family& family) {
  const Sizes sizes = read_sizes(config, family);
  const Index half = sizes.layers / 2;
  std::vector<Index> windows(static_cast<std::size_t>(sizes.layers), 0);
  if (config.is_list("sliding_window")) {
    const auto each = *config.numbers("sliding_window");
    if (each.size() != windows.size()) {
      config.refuse(
          fmt::format("'sliding_window' has {} entries for {} layers", each.size(), sizes.layers));
    }
    windows = each;
  } else {
    const Index window = read_window(config, family);
    for (Index i = 1; i < half; i += 2) windows[static_cast<std::size_t>(i)] = window;
  }
  const LayerState state =
      mamba1_state(config, family, config.product({2, read_width(config, family)}));
  config.ignore("mb_per_layer");
  CacheSpec spec;
  for (Index i = 0; i < sizes.layers; ++i) {
    const Index window = windows[static_cast<std::size_t>(i)];
    if (i % 2 == 0) {
      // Behind the half they gate what the last Mamba layer computed, and keep nothing.
      spec.add(i <= half ? LayerCache{.kind = "mamba-1", .state = state}
                         : LayerCache{.kind = "gated memory"});
    } else if (i > half + 1) {
      spec.add({.kind = "shares an earlier layer's"});
    } else {
      spec.add(window > 0 ? window_layer(sizes, window) : full_layer(sizes));
    }
  }
  return spec;
}

constexpr std::array kFamilies = {
    Family{"gemma3n_text", {"Gemma3nTextConfig", 35, 8, 2048, 2, 256, 512}, gemma3n},
    Family{"gemma4_text", {"Gemma4TextConfig", 30, 8, 2304, 4, 256, 512}, gemma4},
    Family{"gemma4_unified_text", {"Gemma4UnifiedTextConfig", 30, 8, 2304, 4, 256, 1024}, gemma4},
    Family{"hunyuan", {}, hunyuan},
    Family{"hunyuan_v1_dense", {}, hunyuan},
    Family{"hunyuan_v1_moe", {}, hunyuan},
    Family{"phi4flash", {"Phi4FlashConfig", 0, 0, 0, 0, 0, 512}, phi4flash},
};

}  // namespace

std::span<const Family> sharing_families() {
  return kFamilies;
}

}  // namespace attn
