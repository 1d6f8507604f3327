// Each family's way of saying what it caches, by the numbers of one token (k+v of all layers that
// keep everything) or by its layers. Traps from which other calculators come out wrong are named.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "sizing/families/family.h"
#include "sizing/hf_config.h"
#include "sizing/kv_bytes.h"

namespace attn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Asked {
  const char* name;
  const char* config;
  Index tokens;
  Index numbers;  ///< keys and values cached, at one byte each
};

Index numbers_of(const CacheSpec& spec, Index tokens, Index encoder_tokens) {
  CacheQuestion question;
  question.lengths = {tokens, encoder_tokens, 1};
  question.key_type = cache_type("int8", "");
  question.value_type = question.key_type;
  return kv_bytes(spec, question).total;
}

class Families : public testing::TestWithParam<Asked> {};

TEST_P(Families, CachesAsManyNumbers) {
  const Asked& asked = GetParam();
  const CacheSpec spec = hf_cache_spec(asked.config, asked.name);
  EXPECT_EQ(numbers_of(spec, asked.tokens, 100), asked.numbers) << asked.config;
}

const Asked kAsked[] = {
    {"qwen-7b: kv_channels", R"({"model_type": "qwen", "num_hidden_layers": 32,
      "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128})",
     10, 2 * 32 * 32 * 128 * 10},
    {"qwen2 that slides from layer 21 on", R"({"model_type": "qwen2", "num_hidden_layers": 28,
      "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
      "use_sliding_window": true, "sliding_window": 100, "max_window_layers": 21})",
     1000, 2 * 4 * 128 * (21 * 1000 + 7 * 100)},
    {"falcon-7b-instruct says 71 and has 1", R"({"model_type": "falcon", "num_hidden_layers": 32,
      "hidden_size": 4544, "num_attention_heads": 71, "num_kv_heads": 71, "multi_query": true,
      "new_decoder_architecture": false})",
     10, 2 * 32 * 64 * 10},
    {"falcon-40b's first file", R"({"model_type": "RefinedWeb", "n_layer": 60,
      "hidden_size": 8192, "n_head": 128, "n_head_kv": 8})",
     10, 2 * 60 * 8 * 64 * 10},
    {"smollm3: layers without rope keep what others keep", R"({"model_type": "smollm3",
      "num_hidden_layers": 36, "hidden_size": 2048, "num_attention_heads": 16,
      "num_key_value_heads": 4, "no_rope_layer_interval": 4, "use_sliding_window": false,
      "sliding_window": null})",
     10, 2 * 36 * 4 * 128 * 10},
    {"minimax-m2: all layers attend", R"({"model_type": "minimax_m2", "num_hidden_layers": 3,
      "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "hidden_size": 3072,
      "attn_type_list": [1, 1, 1]})",
     10, 2 * 3 * 8 * 128 * 10},
    {"falcon-rw: neither", R"({"model_type": "RefinedWeb", "n_layer": 24, "hidden_size": 2048,
      "n_head": 32, "multi_query": false})",
     10, 2 * 24 * 2048 * 10},
    {"mpt, grouped", R"({"model_type": "mpt", "n_layers": 30, "d_model": 4608, "n_heads": 48,
      "attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 8}})",
     10, 2 * 30 * 8 * 96 * 10},
    {"dbrx among noise", R"({"model_type": "dbrx", "n_layers": 40, "d_model": 6144, "n_heads": 48,
      "attn_config": {"kv_n_heads": 8, "model_type": "", "torch_dtype": "float16"}})",
     10, 2 * 40 * 8 * 128 * 10},
    {"starcoder: many heads share one", R"({"model_type": "gpt_bigcode", "n_layer": 40,
      "n_embd": 6144, "n_head": 48})",
     10, 2 * 40 * 128 * 10},
    {"santacoder's first file", R"({"model_type": "gpt2", "n_layer": 24, "n_embd": 2048,
      "n_head": 16, "attention_head_type": "multiquery"})",
     10, 2 * 24 * 128 * 10},
    {"step-3.5: sliding layers have other heads", R"({"model_type": "step3p5",
      "num_hidden_layers": 2, "hidden_size": 4096, "num_attention_heads": 64,
      "num_attention_groups": 8, "head_dim": 128, "sliding_window": 512,
      "layer_types": ["full_attention", "sliding_attention"], "attention_other_setting": {
      "attention_type": "sliding_attention", "num_attention_heads": 96,
      "num_attention_groups": 4, "head_dim": 64}})",
     1000, 2 * (8 * 128 * 1000 + 4 * 64 * 512)},
    {"gpt_bigcode without multi_query", R"({"model_type": "gpt_bigcode", "n_layer": 4,
      "n_embd": 64, "n_head": 4, "multi_query": false})",
     10, 2 * 4 * 64 * 10},
    {"chatglm-6b without groups", R"({"model_type": "chatglm", "num_layers": 28,
      "hidden_size": 4096, "num_attention_heads": 32})",
     10, 2 * 28 * 4096 * 10},
    {"cohere: null means all heads", R"({"model_type": "cohere", "num_hidden_layers": 40,
      "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": null})",
     10, 2 * 40 * 8192 * 10},
    {"cohere2: every fourth is full", R"({"model_type": "cohere2", "num_hidden_layers": 32,
      "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
      "sliding_window": 4096, "sliding_window_pattern": 4})",
     8192, 2 * 8 * 128 * (8 * 8192 + 24 * 4096)},
    {"gemma-3-4b leaves out its heads", R"({"model_type": "gemma3", "text_config": {
      "model_type": "gemma3_text", "num_hidden_layers": 34, "hidden_size": 2560,
      "sliding_window": 1024}})",
     4096, 2 * 4 * 256 * (5 * 4096 + 29 * 1024)},
    {"gemma-3n shares by default", R"({"model_type": "gemma3n", "text_config": {
      "num_hidden_layers": 35}})",
     4096, 2 * 2 * 256 * (4 * 4096 + 16 * 512)},
    {"gemma-4 e4b: two head sizes, the last 18 share", R"({"model_type": "gemma4_text",
      "num_hidden_layers": 42, "num_attention_heads": 8, "num_key_value_heads": 2,
      "head_dim": 256, "global_head_dim": 512, "num_global_key_value_heads": null,
      "sliding_window": 512, "num_kv_shared_layers": 18})",
     4096, 2 * 2 * (4 * 512 * 4096 + 20 * 256 * 512)},
    {"olmo-3", R"({"model_type": "olmo3", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "sliding_window": 4096})",
     8192, 2 * 4096 * (8 * 8192 + 24 * 4096)},
    {"exaone-4 by a word", R"({"model_type": "exaone4", "num_hidden_layers": 8,
      "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 16,
      "sliding_window": 32, "sliding_window_pattern": "LLLG"})",
     100, 2 * 2 * 16 * (2 * 100 + 6 * 32)},
    {"exaone-4 without a window", R"({"model_type": "exaone4", "num_hidden_layers": 30,
      "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8,
      "sliding_window": null, "sliding_window_pattern": null})",
     100, 2 * 30 * 8 * 64 * 100},
    {"gpt-oss by default", R"({"model_type": "gpt_oss", "num_hidden_layers": 24})", 1000,
     2 * 8 * 64 * (12 * 1000 + 12 * 128)},
    {"minicpm3", R"({"model_type": "minicpm3", "num_hidden_layers": 62, "hidden_size": 2560,
      "num_attention_heads": 40, "num_key_value_heads": 40, "kv_lora_rank": 256,
      "qk_rope_head_dim": 32, "qk_nope_head_dim": 64})",
     10, 62 * 288 * 10},
    {"glm-4.7-flash", R"({"model_type": "glm4_moe_lite", "num_hidden_layers": 47,
      "kv_lora_rank": 512, "qk_rope_head_dim": 64, "head_dim": 64, "num_nextn_predict_layers": 1})",
     10, 47 * 576 * 10},
    {"deepseek-v3.2: indexer rows are bytes", R"({"model_type": "deepseek_v32",
      "num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
      "index_head_dim": 128, "index_topk": 2048})",
     10, 61 * (576 + 132) * 10},
    {"deepseek-v4: rows for 4 and for 128 tokens, raw rows of a window", R"({
      "model_type": "deepseek_v4", "num_hidden_layers": 3, "compress_ratios": [0, 4, 128, 0],
      "head_dim": 512, "sliding_window": 128, "index_head_dim": 128})",
     1280, 3 * 128 * 512 + (512 + 132) * 320 + 512 * 10},
    {"deepseek-vl2-tiny has plain heads", R"({"model_type": "deepseek_vl_v2", "language_config": {
      "num_hidden_layers": 12, "hidden_size": 1280, "num_attention_heads": 10,
      "num_key_value_heads": 10, "use_mla": false, "kv_lora_rank": null}})",
     10, 2 * 12 * 1280 * 10},
    {"kimi-k2.5, nested", R"({"model_type": "kimi_k25", "text_config": {
      "model_type": "kimi_k2", "num_hidden_layers": 61, "kv_lora_rank": 512,
      "qk_rope_head_dim": 64}})",
     10, 61 * 576 * 10},
    {"kimi-linear counts from 1", R"({"model_type": "kimi_linear", "num_hidden_layers": 27,
      "kv_lora_rank": 512, "qk_rope_head_dim": 64, "head_dim": 72, "linear_attn_config": {
      "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "kda_layers": [1], "head_dim": 128,
      "num_heads": 32, "short_conv_kernel_size": 4}})",
     10, 7 * 576 * 10},
    {"mimo-v2-flash: values are narrower", R"({"model_type": "mimo_v2_flash",
      "num_hidden_layers": 3, "hidden_size": 4096, "num_attention_heads": 64,
      "num_key_value_heads": 4, "swa_num_key_value_heads": 8, "head_dim": 192,
      "v_head_dim": 128, "swa_head_dim": 192, "swa_v_head_dim": 128, "sliding_window": 128,
      "attention_chunk_size": 128, "hybrid_layer_pattern": [0, 1, 1]})",
     1000, 4 * 320 * 1000 + 2 * 8 * 320 * 128},
    {"nemotron by words, mtp apart", R"({"model_type": "nemotron_h", "num_hidden_layers": 4,
      "hidden_size": 2688, "num_attention_heads": 32, "num_key_value_heads": 2,
      "attention_head_dim": 128, "layers_block_type": ["mamba", "attention", "moe", "mlp"]})",
     10, 2 * 2 * 128 * 10},
    {"qwen3-next by its interval", R"({"model_type": "qwen3_next", "num_hidden_layers": 48,
      "num_key_value_heads": 2, "head_dim": 256, "num_attention_heads": 16})",
     10, 2 * 12 * 2 * 256 * 10},
    {"zamba2 by its hybrid layers", R"({"model_type": "zamba2", "num_hidden_layers": 54,
      "hidden_size": 2560, "num_attention_heads": 32, "attention_head_dim": 160,
      "kv_channels": 80, "hybrid_layer_ids": [6, 12, 18, 24, 30, 36, 42, 47, 51]})",
     10, 2 * 9 * 32 * 160 * 10},
    {"falcon-h1: both in every layer", R"({"model_type": "falcon_h1", "num_hidden_layers": 36,
      "hidden_size": 2048, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 128,
      "mamba_d_ssm": 1536, "mamba_n_heads": 24, "mamba_d_head": 64, "mamba_d_state": 128})",
     10, 2 * 36 * 2 * 128 * 10},
    {"granite-4", R"({"model_type": "granitemoehybrid", "num_hidden_layers": 4,
      "hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 4,
      "layer_types": ["mamba", "mamba", "attention", "mamba"], "mamba_n_heads": 48,
      "mamba_d_head": 64, "mamba_d_state": 128})",
     10, 2 * 4 * 128 * 10},
    {"recurrentgemma", R"({"model_type": "recurrent_gemma", "num_hidden_layers": 26,
      "hidden_size": 2560, "num_attention_heads": 10, "num_key_value_heads": 1,
      "head_dim": 256, "lru_width": 2560, "attention_window_size": 2048})",
     4096, 2 * 8 * 256 * 2048},
    {"minimax-01", R"({"model_type": "minimax_text_01", "num_hidden_layers": 8,
      "hidden_size": 6144, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
      "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1]})",
     10, 2 * 8 * 128 * 10},
    {"falcon-mamba keeps no keys", R"({"model_type": "falcon_mamba", "num_hidden_layers": 64,
      "hidden_size": 4096, "intermediate_size": 8192, "state_size": 16, "conv_kernel": 4})",
     1000, 0},
    {"rwkv keeps no keys", R"({"model_type": "rwkv", "num_hidden_layers": 32,
      "hidden_size": 4096})",
     1000, 0},
    {"bert keeps no keys", R"({"model_type": "bert", "num_hidden_layers": 12,
      "hidden_size": 768, "num_attention_heads": 12})",
     1000, 0},
    {"nemotron-nas: blocks without attention", R"({"model_type": "nemotron-nas",
      "num_hidden_layers": 3, "hidden_size": 8192, "num_attention_heads": 64,
      "num_key_value_heads": null, "block_configs": [
      {"attention": {"n_heads_in_group": 8, "no_op": false}},
      {"attention": {"n_heads_in_group": null, "no_op": true}},
      {"attention": {"n_heads_in_group": 16, "no_op": false}}]})",
     10, 2 * (8 + 4) * 128 * 10},
    {"decilm: heads layer by layer", R"({"model_type": "deci", "num_hidden_layers": 3,
      "hidden_size": 4096, "num_attention_heads": 32,
      "num_key_value_heads_per_layer": [4, 2, 1]})",
     10, 2 * 7 * 128 * 10},
    {"hunyuan with a factor it does not use", R"({"model_type": "hunyuan_v1_dense",
      "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
      "num_key_value_heads": 8, "head_dim": 128, "use_cla": false, "cla_share_factor": 2})",
     10, 2 * 32 * 8 * 128 * 10},
    {"phi-4-mini-flash: half of it reads the middle", R"({"model_type": "phi4flash",
      "num_hidden_layers": 32, "hidden_size": 2560, "num_attention_heads": 40,
      "num_key_value_heads": 20, "sliding_window": 512, "mb_per_layer": 2})",
     4096, 2 * 20 * 64 * (8 * 512 + 4096)},
    {"t5 counts its decoder", R"({"model_type": "t5", "is_encoder_decoder": true,
      "d_model": 512, "d_kv": 64, "num_heads": 6, "num_layers": 8, "num_decoder_layers": 4})",
     10, 2 * 4 * 6 * 64 * (10 + 100)},
    {"marian: num_hidden_layers is the encoder's", R"({"model_type": "marian",
      "is_encoder_decoder": true, "d_model": 512, "decoder_layers": 2, "encoder_layers": 6,
      "num_hidden_layers": 6, "decoder_attention_heads": 8})",
     10, 2 * 2 * 512 * (10 + 100)},
    {"internvl: llm_config", R"({"model_type": "internvl_chat", "llm_config": {
      "model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584,
      "num_attention_heads": 28, "num_key_value_heads": 4, "use_sliding_window": false}})",
     10, 2 * 28 * 4 * 128 * 10},
    {"omni: thinker_config and in it text_config", R"({"model_type": "qwen2_5_omni",
      "thinker_config": {"model_type": "qwen2_5_omni_thinker", "text_config": {
      "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
      "num_key_value_heads": 4}}})",
     10, 2 * 28 * 4 * 128 * 10},
    {"phi-2, n_head_kv null", R"({"model_type": "phi-msft", "n_layer": 32, "n_embd": 2560,
      "n_head": 32, "n_head_kv": null, "rotary_dim": 32})",
     10, 2 * 32 * 2560 * 10},
    {"gpt-neo alternates", R"({"model_type": "gpt_neo", "num_layers": 12, "hidden_size": 768,
      "num_heads": 12, "attention_types": [[["global", "local"], 6]], "window_size": 256})",
     1000, 2 * 768 * (6 * 1000 + 6 * 256)},
};

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(kAsked),
                         [](const auto& one) { return "n" + std::to_string(one.index); });

Index state_of(const char* config, const char* type = "bf16") {
  return kv_bytes(hf_cache_spec(config, "c"), 1, 1, cache_type(type, "")).state;
}

TEST(FamilyStates, FollowTheirFormulas) {
  // Mamba-1: inner * (conv - 1) in 16 bits and inner * state in 32.
  EXPECT_EQ(state_of(R"({"model_type": "falcon_mamba", "num_hidden_layers": 64,
    "hidden_size": 4096, "intermediate_size": 8192, "state_size": 16, "conv_kernel": 4})"),
            64 * (8192 * 3 * 2 + 8192 * 16 * 4));
  // Mamba-2: (inner + 2 * groups * state) * (conv - 1) and heads * head_dim * state.
  EXPECT_EQ(state_of(R"({"model_type": "nemotron_h", "hybrid_override_pattern": "MM*-",
    "num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
    "mamba_num_heads": 64, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128,
    "conv_kernel": 4})"),
            2 * ((4096 + 2 * 8 * 128) * 3 * 2 + 4096 * 128 * 4));
  // Short convolution: width * (taps - 1).
  EXPECT_EQ(state_of(R"({"model_type": "lfm2", "num_hidden_layers": 2, "hidden_size": 2048,
    "num_attention_heads": 32, "num_key_value_heads": 8, "conv_L_cache": 3,
    "layer_types": ["conv", "full_attention"]})"),
            2048 * 2 * 2);
}

TEST(FamilyStates, AreKeptInTheTypeOfTheModel) {
  const char* wide = R"({"model_type": "mamba", "num_hidden_layers": 1, "hidden_size": 8,
    "intermediate_size": 16, "state_size": 4, "conv_kernel": 4, "torch_dtype": "float32"})";
  EXPECT_EQ(state_of(wide, "q8_0"), 16 * 3 * 4 + 16 * 4 * 4);
}

TEST(FamilyTable, EveryLineIsFoundOnceAndHasARule) {
  const auto names = family_names();
  EXPECT_GT(names.size(), 150U);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Family* family = find_family(names[i]);
    ASSERT_NE(family, nullptr) << names[i];
    EXPECT_NE(family->resolve, nullptr) << names[i];
    if (i > 0) {
      EXPECT_NE(names[i], names[i - 1]) << "is in two tables";
    }
  }
  EXPECT_EQ(find_family("wonder"), nullptr);
}

TEST(FamilyTable, TheFamilyInsideAWrapperIsKnown) {
  for (const char* wrapper : {"gemma3", "llava", "kimi_k25", "qwen3_vl", "mllama"}) {
    EXPECT_NE(find_family(inner_model_type(wrapper)), nullptr) << wrapper;
  }
  EXPECT_EQ(inner_model_type("wonder"), "");
}

TEST(Families, LatentRowsExpandToEveryHead) {
  const char* config = R"({"model_type": "deepseek_v2", "num_hidden_layers": 27,
    "num_attention_heads": 16, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128, "v_head_dim": 128})";
  const CacheSpec spec = hf_cache_spec(config, "c");
  EXPECT_THAT(layer_summary(spec), ElementsAre("27 layers of one latent row of 576"));
  EXPECT_EQ(numbers_of(expanded_latent(spec), 10, 0), 27 * 16 * (192 + 128) * 10);
  const CacheSpec narrow = hf_cache_spec(R"({"model_type": "deepseek_v2", "num_hidden_layers": 2,
    "kv_lora_rank": 512, "qk_rope_head_dim": 64})",
                                         "c");
  EXPECT_THROW((void)expanded_latent(narrow), UsageError);
}

TEST(Families, CrossLayersAskForTheOtherSequence) {
  const CacheSpec spec = hf_cache_spec(R"({"model_type": "t5"})", "c");
  EXPECT_THROW((void)numbers_of(spec, 10, 0), UsageError);
  const CacheSpec whisper = hf_cache_spec(R"({"model_type": "whisper"})", "c");
  EXPECT_EQ(numbers_of(whisper, 448, 0), 2 * 4 * 384 * (448 + 1500));
}

}  // namespace
}  // namespace attn
