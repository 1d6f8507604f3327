// What the configuration classes of transformers 5.24 say of each family's layers, where a file
// does not: figures taken from the classes themselves, at one byte a number.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "sizing/families/family.h"
#include "sizing/hf_config.h"
#include "sizing/kv_bytes.h"

namespace attn {
namespace {

using testing::HasSubstr;

KvBytes bytes_of(const CacheSpec& spec, Index tokens) {
  CacheQuestion question;
  question.lengths = {tokens, 100, 1};
  question.key_type = cache_type("int8", "");
  question.value_type = question.key_type;
  return kv_bytes(spec, question);
}

struct Said {
  const char* config;
  Index tokens;
  Index numbers;
};

class FamilyClasses : public testing::TestWithParam<Said> {};

TEST_P(FamilyClasses, CacheAsManyNumbers) {
  const Said& said = GetParam();
  EXPECT_EQ(bytes_of(hf_cache_spec(said.config, "c"), said.tokens).total, said.numbers)
      << said.config;
}

const Said kSaid[] = {
    // Sizes and kv heads that a silent file means; a class may keep them whatever the heads are.
    {R"({"model_type": "apertus"})", 10, 2 * 32 * 4096 * 10},
    {R"({"model_type": "arcee", "num_key_value_heads": 4})", 10, 2 * 32 * 4 * 80 * 10},
    {R"({"model_type": "bitnet"})", 10, 2 * 30 * 5 * 128 * 10},
    {R"({"model_type": "ernie4_5", "num_attention_heads": 20, "hidden_size": 2560})", 10,
     2 * 18 * 2 * 128 * 10},
    {R"({"model_type": "exaone", "num_hidden_layers": 30, "hidden_size": 2560})", 10,
     2 * 30 * 8 * 80 * 10},
    {R"({"model_type": "glm4v_text"})", 10, 2 * 40 * 2 * 128 * 10},
    {R"({"model_type": "helium", "num_hidden_layers": 2})", 10, 2 * 2 * 20 * 128 * 10},
    {R"({"model_type": "internlm3"})", 10, 2 * 48 * 2 * 128 * 10},
    {R"({"model_type": "seed_oss"})", 10, 2 * 64 * 8 * 128 * 10},
    {R"({"model_type": "xglm", "num_layers": 30, "attention_heads": 16, "d_model": 2048})", 10,
     2 * 30 * 2048 * 10},
    {R"({"model_type": "laguna", "num_hidden_layers": 2, "layer_types": ["full_attention",
      "sliding_attention"]})",
     1000, 2 * 8 * 128 * (1000 + 512)},
    // Heads that share by a rule of their own.
    {R"({"model_type": "jetmoe", "num_hidden_layers": 24, "hidden_size": 2048,
      "num_attention_heads": 32, "num_key_value_heads": 16, "kv_channels": 128})",
     10, 2 * 24 * 16 * 128 * 10},
    {R"({"model_type": "plamo", "num_hidden_layers": 40, "hidden_size": 5120,
      "num_attention_heads": 40, "n_shared_head": 8})",
     10, 2 * 40 * 5 * 128 * 10},
    {R"({"model_type": "hf_olmo", "n_layers": 2, "d_model": 2048, "n_heads": 16,
      "n_kv_heads": null, "multi_query_attention": true})",
     10, 2 * 2 * 128 * 10},
    // Windows.
    {R"({"model_type": "gemma2", "num_hidden_layers": 2, "sliding_window": 8,
      "sliding_window_size": 8})",
     10, 2 * 4 * 256 * (10 + 8)},
    {R"({"model_type": "modernbert", "global_attn_every_n_layers": 3})", 10, 0},
    {R"({"model_type": "smollm3", "num_hidden_layers": 8, "use_sliding_window": true,
      "sliding_window": 50})",
     100, 2 * 4 * 128 * (6 * 100 + 2 * 50)},
    {R"({"model_type": "afmoe", "num_key_value_heads": 4})", 10'000,
     2 * 4 * 128 * (8 * 10'000 + 24 * 1024)},
    {R"({"model_type": "cwm"})", 10'000, 2 * 8 * 128 * (16 * 10'000 + 48 * 8192)},
    {R"({"model_type": "granite_swa"})", 1000, 2 * 4 * 128 * (6 * 1000 + 18 * 128)},
    {R"({"model_type": "dots1", "use_sliding_window": false, "sliding_window": 4096})", 10'000,
     Index{2} * 62 * 4608 * 10'000},
    {R"({"model_type": "dots1", "num_hidden_layers": 4, "max_window_layers": 3,
      "sliding_window": 100})",
     1000, 2 * 4608 * (3 * 1000 + 100)},
    {R"({"model_type": "qwen3_moe", "head_dim": 128, "use_sliding_window": true,
      "sliding_window": 100, "max_window_layers": 20})",
     1000, 2 * 24 * 4 * 128 * 100},
    {R"({"model_type": "gpt_neo", "num_layers": 2, "attention_types": [[["global"], 2]]})", 1000,
     2 * 2 * 2048 * 1000},
    {R"({"model_type": "gpt_neo", "num_layers": 4,
      "attention_types": [[["global", "local"], 1], [["local"], 2]]})",
     1000, 2 * 2048 * (1000 + 3 * 256)},
    {R"({"model_type": "step3p5", "num_hidden_layers": 2, "hidden_size": 4096,
      "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128, "sliding_window": 512,
      "num_nextn_predict_layers": 1,
      "layer_types": ["full_attention", "sliding_attention", "sliding_attention"]})",
     1000, 2 * 8 * 128 * (1000 + 512)},
    {R"({"model_type": "step3p5", "num_hidden_layers": 1, "layer_types": ["full_attention"]})",
     1000, 2 * 8 * 128 * 1000},
    // Layers that attend among others.
    {R"({"model_type": "zamba"})", 10, 2 * 13 * 16 * 464 * 10},
    {R"({"model_type": "zamba2", "num_hidden_layers": 3, "hidden_size": 2048,
      "num_attention_heads": 32, "n_mamba_heads": 64, "layers_block_type": ["m", "g", "m"]})",
     10, 2 * 32 * 128 * 10},
    {R"({"model_type": "olmo_hybrid"})", 10, 2 * 8 * 3840 * 10},
    {R"({"model_type": "granitemoehybrid", "num_hidden_layers": 2, "num_key_value_heads": 8,
      "layer_types": ["linear_attention", "full_attention"]})",
     10, 2 * 8 * 128 * 10},
    {R"({"model_type": "xlstm", "embedding_dim": 4096, "num_blocks": 32, "num_heads": 8})", 10, 0},
    {R"({"model_type": "bailing_moe_linear", "num_hidden_layers": 11, "hidden_size": 2048,
      "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128,
      "layer_group_size": 5})",
     10, 2 * 3 * 4 * 128 * 10},
    // Latent rows.
    {R"({"model_type": "longcat_flash", "num_layers": 28, "num_hidden_layers": 56,
      "kv_lora_rank": 512, "qk_rope_head_dim": 64})",
     10, 56 * 576 * 10},
    {R"({"model_type": "pangu_ultra_moe", "num_hidden_layers": 61, "attention_kv_lora_dim": 512,
      "attention_qk_rope_dim": 64})",
     10, 61 * 576 * 10},
    {R"({"model_type": "youtu"})", 10, 32 * 576 * 10},
    {R"({"model_type": "deepseek_v4", "num_hidden_layers": 3, "layer_types":
      ["sliding_attention", "heavily_compressed_attention", "compressed_sparse_attention"]})",
     1000, 512 * (3 * 128 + 1000 / 128 + 1000 / 4) + 128 * 250 + 4 * 250},
    // Decoders beside an encoder of 100 tokens.
    {R"({"model_type": "moonshine", "hidden_size": 416, "decoder_num_hidden_layers": 8})", 10,
     2 * 8 * 416 * (10 + 100)},
    {R"({"model_type": "switch_transformers", "num_layers": 4})", 10,
     2 * 12 * 12 * 64 * (10 + 100)},
    {R"({"model_type": "vision-encoder-decoder", "encoder": {"model_type": "vit"},
      "decoder": {"model_type": "trocr", "decoder_layers": 12, "d_model": 1024,
      "decoder_attention_heads": 16}})",
     10, 2 * 12 * 1024 * (10 + 100)},
    {R"({"model_type": "t5gemma", "encoder": {"model_type": "t5_gemma_module"},
      "decoder": {"model_type": "t5_gemma_module", "num_hidden_layers": 2, "sliding_window": 8}})",
     10, 2 * 4 * 256 * (8 + 10 + 2 * 100)},
};

INSTANTIATE_TEST_SUITE_P(All, FamilyClasses, testing::ValuesIn(kSaid), [](const auto& case_info) {
  return "n" + std::to_string(case_info.index);
});

TEST(FamilyClassStates, FollowTheClasses) {
  // 24 of OLMo-hybrid's 32 layers: 30 heads of 96 and 192, both parts in f32.
  EXPECT_EQ(bytes_of(hf_cache_spec(R"({"model_type": "olmo_hybrid"})", "c"), 10).state,
            24 * ((2 * 30 * 96 + 30 * 192) * 3 + 30 * 192 * 96) * 4);
  // A null of Falcon-H1's inner width means twice the width: 128 heads of 32.
  EXPECT_EQ(bytes_of(hf_cache_spec(R"({"model_type": "falcon_h1", "num_hidden_layers": 1,
    "hidden_size": 2048, "mamba_d_ssm": null})",
                                   "c"),
                     10)
                .state,
            (4096 + 2 * 256) * 3 * 2 + 4096 * 256 * 4);
  // xLSTM 7B: 8 heads' matrices of 256 x 512, normalisers and maxima.
  EXPECT_EQ(bytes_of(hf_cache_spec(R"({"model_type": "xlstm"})", "c"), 10).state,
            32 * 8 * (256 * 512 + 256 + 1) * 4);
}

struct Refused {
  const char* config;
  const char* why;
};

class FamilyRefusals : public testing::TestWithParam<Refused> {};

TEST_P(FamilyRefusals, NameWhatIsNotUnderstood) {
  try {
    (void)hf_cache_spec(GetParam().config, "c");
    FAIL() << GetParam().config;
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().why));
  }
}

const Refused kRefused[] = {
    {R"({"model_type": "zamba2", "num_hidden_layers": 2, "layers_block_type": ["mamba", "x"]})",
     "'x'"},
    {R"({"model_type": "recurrent_gemma", "block_types": ["recurrent", "x"]})", "'x'"},
    {R"({"model_type": "deepseek_v4", "num_hidden_layers": 1, "layer_types": ["x"]})", "'x'"},
    {R"({"model_type": "deepseek_v4", "num_hidden_layers": 1, "compress_ratios": [8]})", "8"},
    {R"({"model_type": "deepseek_v4", "num_hidden_layers": 1, "compress_ratios": [4],
      "compress_rate_csa": 8})",
     "'compress_rate_csa'"},
    {R"({"model_type": "kimi_linear", "num_hidden_layers": 4, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64, "linear_attn_config": {"full_attn_layers": [5]}})",
     "layer 5 of 4"},
    {R"({"model_type": "bamba", "num_hidden_layers": 4, "attn_layer_indices": [4]})",
     "'attn_layer_indices' has 4 of 4"},
    {R"({"model_type": "longcat_flash", "num_hidden_layers": 28})", "no 'num_layers'"},
    {R"({"model_type": "gpt_neo", "num_layers": 4, "attention_types": [[["global"], 1e300]]})",
     "'attention_types'"},
    {R"({"model_type": "gpt_neo", "num_layers": 4, "attention_types": [[["global"], 3]]})",
     "3 entries for 4 layers"},
    {R"({"model_type": "qwen2", "num_hidden_layers": 1, "layer_types": ["sliding_attention"]})",
     "'use_sliding_window' is not true"},
    {R"({"model_type": "qwen2_moe", "use_sliding_window": true})", "does not say where"},
    {R"({"model_type": "voxtral", "text_config": {}})", "does not say its model_type"},
    {R"({"model_type": "jamba", "attn_layer_offset": 9})", "'attn_layer_offset'"},
    {R"({"model_type": "minimax", "num_hidden_layers": 1, "attn_type_list": [2]})", "neither"},
    {R"({"model_type": "mimo_v2", "num_hidden_layers": 1, "hidden_size": 64,
      "num_attention_heads": 4, "sliding_window": 8, "hybrid_layer_pattern": [7]})",
     "neither"},
    {R"({"model_type": "deepseek_v3", "kv_lora_rank": null})", "'kv_lora_rank' is null"},
    {R"({"model_type": "xlstm", "qk_dim_factor": -1})", "'qk_dim_factor'"},
    {R"({"model_type": "llama", "per_layer_config": {"0": {"head_dim": 64}}})",
     "'per_layer_config'"},
    {R"({"model_type": "gpt2", "add_cross_attention": true})", "'add_cross_attention'"},
};

INSTANTIATE_TEST_SUITE_P(All, FamilyRefusals, testing::ValuesIn(kRefused),
                         [](const auto& case_info) {
                           return "n" + std::to_string(case_info.index);
                         });

TEST(FamilyWrappers, NameFamiliesThatExist) {
  for (const char* wrapper : {"aria", "instructblip", "got_ocr2", "t5gemma"}) {
    EXPECT_NE(find_family(inner_model_type(wrapper)), nullptr) << wrapper;
  }
}

}  // namespace
}  // namespace attn
