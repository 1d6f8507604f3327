// Families whose layers all attend to all tokens, and which say their sizes under the usual names.
// Sources: defaults: the configuration classes of transformers 5.24, instantiated (a kv-head or
// head-size default is given where the class keeps it whatever the number of heads); GPT-2, GPT-J,
// Llama, RedPajama: mlc-ai/mlc-llm model_preset.py (copies of hub files); BLOOM:
// intel-extension-for-pytorch tests. Lines without defaults have their code beside their weights
// and say their sizes in each file.

#include <array>

#include "sizing/families/family.h"

namespace attn {
namespace {

constexpr Family plain(std::string_view model_type) {
  return {model_type, {}, plain_rule};
}

constexpr std::array kFamilies = {
    Family{"", {}, plain_rule},  // a guess, and called one
    Family{"apertus", {"ApertusConfig", 32, 32, 4096}, plain_rule},
    Family{"apertus1p5_text", {"Apertus1p5TextConfig", 32, 32, 4096}, plain_rule},
    plain("aquila"),
    Family{"arcee", {"ArceeConfig", 32, 32, 2560}, plain_rule},
    plain("arctic"),
    Family{"aria_text", {"AriaTextConfig", 32, 32, 4096}, plain_rule},
    plain("baichuan"),
    plain("bailing_moe"),
    plain("bailing_moe_v2"),
    Family{"biogpt", {"BioGptConfig", 24, 16, 1024}, plain_rule},
    Family{"bitnet", {"BitNetConfig", 30, 20, 2560, 5}, plain_rule},
    Family{"bloom", {"BloomConfig", 2, 8, 64}, plain_rule},
    plain("btlm"),
    Family{"chameleon", {"ChameleonConfig", 32, 32, 4096, 32}, plain_rule},
    Family{"codegen", {"CodeGenConfig", 28, 16, 4096}, plain_rule},
    Family{"cohere", {"CohereConfig", 40, 64, 8192}, plain_rule},
    Family{"cpmant", {"CpmAntConfig", 48, 32, 4096}, plain_rule},
    Family{"ctrl", {"CTRLConfig", 48, 16, 1280}, plain_rule},
    plain("deepseek"),
    Family{"diffllama", {"DiffLlamaConfig", 16, 32, 2048}, plain_rule},
    Family{"doge", {"DogeConfig", 32, 8, 1024}, plain_rule},
    Family{"emu3_text_model", {"Emu3TextConfig", 32, 32, 4096, 8}, plain_rule},
    Family{"ernie4_5", {"Ernie4_5Config", 18, 16, 1024, 2, 128}, plain_rule},
    Family{"ernie4_5_moe", {"Ernie4_5_MoeConfig", 28, 20, 2560, 4}, plain_rule},
    Family{"ernie4_5_vl_moe_text", {"Ernie4_5_VLMoeTextConfig", 28, 20, 2560, 4}, plain_rule},
    Family{"exaone", {"ExaoneConfig", 32, 32, 4096, 8}, plain_rule},
    Family{"flex_olmo", {"FlexOlmoConfig", 32, 32, 4096}, plain_rule},
    Family{"fuyu", {"PersimmonConfig", 36, 64, 4096}, plain_rule},
    Family{"gemma", {"GemmaConfig", 28, 16, 3072, 16, 256}, plain_rule},
    Family{"glm", {"GlmConfig", 40, 32, 4096, 2, 128}, plain_rule},
    Family{"glm4", {"Glm4Config", 40, 32, 4096, 2, 128}, plain_rule},
    Family{"glm4_moe", {"Glm4MoeConfig", 46, 96, 4096, 8}, plain_rule},
    Family{"glm4v_moe_text", {"Glm4vMoeTextConfig", 46, 96, 4096, 8}, plain_rule},
    Family{"glm4v_text", {"Glm4vTextConfig", 40, 32, 4096, 2}, plain_rule},
    Family{"glm_image_text", {"GlmImageTextConfig", 40, 32, 4096, 2}, plain_rule},
    Family{"glm_ocr_text", {"GlmOcrTextConfig", 16, 16, 1024, 8}, plain_rule},
    Family{"gpt_neox", {"GPTNeoXConfig", 44, 64, 6144}, plain_rule},
    Family{"gpt_neox_japanese", {"GPTNeoXJapaneseConfig", 32, 32, 2560}, plain_rule},
    Family{"gptj", {"GPTJConfig", 28, 16, 4096}, plain_rule},
    Family{"granite", {"GraniteConfig", 32, 32, 4096}, plain_rule},
    Family{"granite4_vision_text", {"Granite4VisionTextConfig", 32, 32, 4096}, plain_rule},
    Family{"granite_docling_text", {"GraniteDoclingTextConfig", 28, 16, 1024, 4}, plain_rule},
    Family{"granitemoe", {"GraniteMoeConfig", 32, 32, 4096}, plain_rule},
    Family{"granitemoeshared", {"GraniteMoeSharedConfig", 32, 32, 4096}, plain_rule},
    Family{"helium", {"HeliumConfig", 24, 20, 2560, 20, 128}, plain_rule},
    Family{"hunyuan_vl_text", {"HunYuanVLTextConfig", 32, 32, 4096}, plain_rule},
    Family{"hy_v3", {"HYV3Config", 80, 64, 4096, 8, 128}, plain_rule},
    Family{"hyperclovax", {"HyperCLOVAXConfig", 32, 32, 4096}, plain_rule},
    plain("internlm"),
    plain("internlm2"),
    Family{"internlm3", {"InternLM3Config", 48, 32, 4096, 2, 128}, plain_rule},
    Family{"iquestcoder", {"IQuestCoderConfig", 80, 40, 5120, 8, 128}, plain_rule},
    plain("jais"),
    Family{"jais2", {"Jais2Config", 32, 26, 3328}, plain_rule},
    Family{"llama", {"LlamaConfig", 32, 32, 4096}, plain_rule},
    plain("llava"),
    plain("llava_llama"),
    plain("minicpm"),
    plain("minicpmo"),
    plain("minicpmv"),
    plain("mixformer-sequential"),
    plain("molmo"),
    Family{"musicgen_decoder", {"MusicgenDecoderConfig", 24, 16, 1024}, plain_rule},
    Family{"musicgen_melody_decoder", {"MusicgenMelodyDecoderConfig", 24, 16, 1024}, plain_rule},
    Family{"nanochat", {"NanoChatConfig", 12, 6, 768}, plain_rule},
    Family{"nemotron", {"NemotronConfig", 32, 48, 6144}, plain_rule},
    Family{"olmo", {"OlmoConfig", 32, 32, 4096}, plain_rule},
    Family{"olmo2", {"Olmo2Config", 32, 32, 4096}, plain_rule},
    Family{"olmoe", {"OlmoeConfig", 16, 16, 2048}, plain_rule},
    Family{"openai-gpt", {"OpenAIGPTConfig", 12, 12, 768}, plain_rule},
    Family{"opt", {"OPTConfig", 12, 12, 768}, plain_rule},
    plain("orion"),
    Family{"paddleocr_vl_text", {"PaddleOCRTextConfig", 18, 16, 1024, 2, 128}, plain_rule},
    plain("pangu"),
    Family{"persimmon", {"PersimmonConfig", 36, 64, 4096}, plain_rule},
    Family{"phi", {"PhiConfig", 24, 32, 2048}, plain_rule},
    Family{"phi-msft", {"PhiConfig", 24, 32, 2048}, plain_rule},
    Family{"sarvam_moe", {"SarvamMoEConfig", 19, 64, 4096, 4, 64}, plain_rule},
    Family{"seed_oss", {"SeedOssConfig", 64, 80, 4096, 8, 128}, plain_rule},
    plain("skywork"),
    plain("solar"),
    Family{"solar_open", {"SolarOpenConfig", 48, 64, 4096, 8, 128}, plain_rule},
    Family{"stablelm", {"StableLmConfig", 32, 32, 2560, 32}, plain_rule},
    plain("stablelm_epoch"),
    plain("step3_text"),
    plain("telechat"),
    Family{"xglm", {"XGLMConfig", 24, 16, 1024}, plain_rule},
    plain("xverse"),
    plain("Yi"),
    plain("yi"),
};

}  // namespace

std::span<const Family> plain_families() {
  return kFamilies;
}

}  // namespace attn
