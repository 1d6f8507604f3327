#include "sizing/families/state.h"

#include <fmt/core.h>

#include <algorithm>

namespace attn {

LayerState mamba1_state(ConfigReader& config, const Family& family, Index inner) {
  const Index taps = config.count_or({"mamba_d_conv", "conv_kernel", "d_conv"}, "convolution taps",
                                     {4, family.defaults.name});
  const Index state = config.count_or({"mamba_d_state", "state_size", "ssm_state_size", "d_state"},
                                      "state of a channel", {16, family.defaults.name});
  return {.kind = "mamba-1",
          .conv_inner = config.product({inner, taps - 1}),
          .recurrent = config.product({inner, state})};
}

LayerState mamba2_state(ConfigReader& config, const Family& family, Index inner,
                        const Mamba2Defaults& defaults) {
  const std::string_view from = family.defaults.name;
  const Index taps =
      config.count_or({"mamba_d_conv", "conv_kernel", "d_conv"}, "convolution taps", {4, from});
  const Index state = config.count_or({"mamba_d_state", "ssm_state_size", "state_size", "d_state"},
                                      "state of a channel", {defaults.state, from});
  const Index groups = config.count_or({"mamba_n_groups", "n_groups", "mamba_ngroups"},
                                       "state groups", {defaults.groups, from});
  const Index heads =
      config.count_or({"mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads"},
                      "state heads", {defaults.heads, from});
  Index head_dim = defaults.head_dim;
  for (const char* key : {"mamba_head_dim", "mamba_d_head", "mamba_headdim"}) {
    if (!config.has(key) || config.letters(key)) continue;  // "auto"
    head_dim = config.required_count({key}, "state head dim");
  }
  if (head_dim == 0) {
    if (inner < 1 || inner % heads != 0) {
      config.refuse(fmt::format("{} state heads do not divide an inner width of {}", heads, inner));
    }
    head_dim = inner / heads;
    config.note("state head dim", head_dim, "inner width / state heads");
  }
  const Index width = config.product({heads, head_dim});
  return {.kind = "mamba-2",
          .conv_inner = config.product({width, taps - 1}),
          .conv_group = config.product({2, state, taps - 1}),
          .groups = groups,
          .recurrent = config.product({width, state})};
}

LayerState delta_state(ConfigReader& config, const Family& family, const DeltaDefaults& defaults) {
  const std::string_view from = family.defaults.name;
  const Index taps = config.count_or({"linear_conv_kernel_dim"}, "convolution taps", {4, from});
  const Index k_heads = config.count_or({"linear_num_key_heads"}, "linear key heads",
                                        {defaults.key_heads, from, defaults.for_null});
  const Index v_heads = config.count_or({"linear_num_value_heads"}, "linear value heads",
                                        {defaults.value_heads, from, defaults.for_null});
  const Index k_dim = config.count_or({"linear_key_head_dim"}, "linear key dim",
                                      {defaults.key_dim, from, defaults.for_null});
  const Index v_dim = config.count_or({"linear_value_head_dim"}, "linear value dim",
                                      {defaults.value_dim, from, defaults.for_null});
  return {.kind = "gated delta",
          .conv_inner = config.product({2, k_heads, k_dim, taps - 1}) +
                        config.product({v_heads, v_dim, taps - 1}),
          .recurrent = config.product({v_heads, v_dim, k_dim}),
          .conv_is_f32 = true};
}

LayerState short_conv_state(const ConfigReader& config, Index width, Index taps) {
  return {.kind = "short convolution", .conv_inner = config.product({width, taps - 1})};
}

LayerCache state_layer(const LayerState& state) {
  return {.kind = state.kind, .state = state};
}

CacheSpec layers_with_state(ConfigReader& config, const std::vector<std::string>& words,
                            const Sizes& sizes, const LayerState& state,
                            std::initializer_list<const char*> stateful,
                            std::initializer_list<const char*> nothing) {
  const auto among = [](std::initializer_list<const char*> names, const std::string& word) {
    return std::find(names.begin(), names.end(), word) != names.end();
  };
  return layers_by_words(config, words, sizes, 0,
                         [&](const std::string& word) -> std::optional<LayerCache> {
                           if (among(stateful, word)) return state_layer(state);
                           if (among(nothing, word)) return LayerCache{.kind = word};
                           return std::nullopt;
                         });
}

}  // namespace attn
