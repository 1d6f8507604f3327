#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "sizing/families/family.h"

namespace attn {

// States of recurrent and convolutional layers, in numbers for one sequence. The formulas are those
// of vllm-project/vllm vllm/model_executor/layers/mamba/mamba_utils.py@02d7108.

/// inner * (conv - 1) and inner * d_state. Gu, Dao 2023 (arXiv:2312.00752).
LayerState mamba1_state(ConfigReader& config, const Family& family, Index inner);

/// What a Mamba-2 class fills in.
struct Mamba2Defaults {
  Index heads = 0;
  Index head_dim = 0;  ///< 0: inner / heads
  Index groups = 1;
  Index state = 0;
};
/// (inner + 2 * groups * d_state) * (conv - 1) and heads * head_dim * d_state.
/// Dao, Gu 2024 (arXiv:2405.21060).
LayerState mamba2_state(ConfigReader& config, const Family& family, Index inner,
                        const Mamba2Defaults& defaults);

/// What the class of a gated delta net fills in.
struct DeltaDefaults {
  Index key_heads = 0;
  Index value_heads = 0;
  Index key_dim = 0;
  Index value_dim = 0;
  bool for_null = false;  ///< where a file says null, too
};
/// (2 * k_heads * k_dim + v_heads * v_dim) * (conv - 1) and v_heads * v_dim * k_dim.
/// Yang et al. 2024 (arXiv:2412.06464). Both in f32, as llama.cpp keeps them.
LayerState delta_state(ConfigReader& config, const Family& family, const DeltaDefaults& defaults);

/// width * (taps - 1).
LayerState short_conv_state(const ConfigReader& config, Index width, Index taps);

/// A layer that keeps a state and nothing else.
LayerCache state_layer(const LayerState& state);

/// Layers by a word each: those that attend, those with one of the words in `stateful`, which keep
/// `state`, and those with one in `nothing`, which keep neither.
CacheSpec layers_with_state(ConfigReader& config, const std::vector<std::string>& words,
                            const Sizes& sizes, const LayerState& state,
                            std::initializer_list<const char*> stateful,
                            std::initializer_list<const char*> nothing = {});

}  // namespace attn
