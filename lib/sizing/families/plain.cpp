// Families whose layers all attend to all tokens, and which say their sizes under the usual names.
// Sources: GPT-2, GPT-J, Llama, RedPajama: mlc-ai/mlc-llm model_preset.py (copies of hub files);
// GPT-NeoX, BLOOM: configuration_gpt_neox.py, intel-extension-for-pytorch tests; defaults of
// LlamaConfig, OPTConfig, BloomConfig, CohereConfig, GemmaConfig: their configuration files. Lines
// without defaults: a file of that model_type says its sizes (from memory).

#include <array>

#include "sizing/families/family.h"

namespace attn {
namespace {

constexpr Family plain(std::string_view model_type) {
  return {model_type, {}, plain_rule};
}

constexpr std::array kFamilies = {
    Family{"", {}, plain_rule},
    Family{"bloom", {"BloomConfig", 2, 8, 64}, plain_rule},
    Family{"codegen", {"CodeGenConfig", 28, 16, 4096}, plain_rule},
    Family{"cohere", {"CohereConfig", 40, 64, 8192}, plain_rule},
    Family{"gemma", {"GemmaConfig", 28, 16, 3072, 16, 256}, plain_rule},
    Family{"glm", {"GlmConfig", 40, 32, 4096, 2, 128}, plain_rule},
    Family{"glm4", {"Glm4Config", 40, 32, 4096, 2, 128}, plain_rule},
    Family{"glm4_moe", {"Glm4MoeConfig", 46, 96, 4096, 8}, plain_rule},
    Family{"gpt_neox", {"GPTNeoXConfig", 44, 64, 6144}, plain_rule},
    Family{"gptj", {"GPTJConfig", 28, 16, 4096}, plain_rule},
    Family{"granite", {"GraniteConfig", 32, 32, 4096}, plain_rule},
    Family{"granitemoe", {"GraniteMoeConfig", 32, 32, 4096}, plain_rule},
    Family{"llama", {"LlamaConfig", 32, 32, 4096}, plain_rule},
    Family{"nemotron", {"NemotronConfig", 32, 48, 6144}, plain_rule},
    Family{"olmo", {"OlmoConfig", 32, 32, 4096}, plain_rule},
    Family{"olmo2", {"Olmo2Config", 32, 32, 4096}, plain_rule},
    Family{"olmoe", {"OlmoeConfig", 16, 16, 2048}, plain_rule},
    Family{"opt", {"OPTConfig", 12, 12, 768}, plain_rule},
    Family{"persimmon", {"PersimmonConfig", 36, 64, 4096}, plain_rule},
    Family{"phi", {"PhiConfig", 24, 32, 2048}, plain_rule},
    Family{"phi-msft", {"PhiConfig", 24, 32, 2048}, plain_rule},
    Family{"stablelm", {"StableLmConfig", 32, 32, 2560, 32}, plain_rule},
    plain("apertus"),
    plain("aquila"),
    plain("arcee"),
    plain("arctic"),
    plain("baichuan"),
    plain("bailing_moe"),
    plain("bailing_moe_v2"),
    plain("bitnet"),
    plain("chameleon"),
    plain("ctrl"),
    plain("deepseek"),
    plain("diffllama"),
    plain("dots1"),
    plain("emu3_text_model"),
    plain("ernie4_5"),
    plain("ernie4_5_moe"),
    plain("exaone"),
    plain("fuyu"),
    plain("glm4v_moe_text"),
    plain("glm4v_text"),
    plain("gpt_neox_japanese"),
    plain("helium"),
    plain("hyperclovax"),
    plain("internlm"),
    plain("internlm2"),
    plain("internlm3"),
    plain("jais"),
    plain("minicpm"),
    plain("minicpmo"),
    plain("minicpmv"),
    plain("molmo"),
    plain("openai-gpt"),
    plain("orion"),
    plain("pangu"),
    plain("plamo"),
    plain("seed_oss"),
    plain("skywork"),
    plain("solar"),
    plain("stablelm_epoch"),
    plain("step3_text"),
    plain("telechat"),
    plain("xglm"),
    plain("xverse"),
    plain("Yi"),
    plain("yi"),
};

}  // namespace

std::span<const Family> plain_families() {
  return kFamilies;
}

}  // namespace attn
