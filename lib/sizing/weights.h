#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/index.h"

namespace attn {

/// How many parameters a model has.
struct WeightCount {
  Index parameters = 0;
  Index active = 0;  ///< of them, those that work on one token (fewer with experts)
};

/// The parameters of a configuration, exact for the families whose layers are known: GPT-2, OPT,
/// BLOOM, GPT-NeoX, Falcon, Llama and what is built like it (Mistral, Qwen2, Qwen3, Phi-3, Gemma),
/// mixtures of experts (Mixtral, Qwen-MoE, GPT-OSS), StarCoder2 and DeepSeek V2 and V3 (without the
/// layers that predict further tokens). Nothing for another family; DataError that names the key
/// where a size is missing.
std::optional<WeightCount> weight_count(const nlohmann::json& config, const std::string& name);

}  // namespace attn
