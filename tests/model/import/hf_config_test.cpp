#include "model/import/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/import/stored_model.h"

namespace attn {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::gpt2_json;
using ::testing::HasSubstr;
using testing::llama_json;
using testing::read;

std::string refusal(json object, const json& change) {
  object.update(change);
  try {
    const HfConfig read_config = read(object);
    std::string unknown;
    for (const std::string& key : read_config.unknown) unknown += " " + key;
    return "(accepted)" + unknown;
  } catch (const DataError& error) {
    return error.what();
  }
}

TEST(HfConfig, Gpt2IsReadAsItsClassWouldFillItIn) {
  const HfConfig read_config = read(gpt2_json());
  const ModelConfig& c = read_config.model;
  EXPECT_EQ(c.position, Position::kLearned);
  EXPECT_EQ(c.max_positions, 8);
  EXPECT_EQ(c.mlp_hidden, 32) << "n_inner null is 4 * n_embd";
  EXPECT_EQ(c.activation, MlpActivation::kGeluTanh) << "gelu_new, the class's default";
  EXPECT_EQ(c.norm_eps, 1e-5);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_TRUE(c.bias && *c.out_bias && *c.mlp_bias && c.norm_bias);
  EXPECT_FALSE(c.head_bias);
}

TEST(HfConfig, LlamaIsReadAsItsClassWouldFillItIn) {
  json object = llama_json();
  EXPECT_EQ(read(object).model.head_dim, 4);
  EXPECT_EQ(read(object).model.kv_heads, 2);
  EXPECT_EQ(read(object).model.rope_base, 10000);
  EXPECT_EQ(read(object).model.norm_eps, 1e-5);
  EXPECT_FALSE(read(object).model.bias);
  EXPECT_FALSE(*read(object).model.mlp_bias);
  for (const char* key : {"head_dim", "num_key_value_heads", "rms_norm_eps"}) object.erase(key);
  EXPECT_EQ(read(object).model.head_dim, 2) << "hidden_size / heads";
  EXPECT_EQ(read(object).model.kv_heads, 4) << "as many as heads";
  EXPECT_EQ(read(object).model.norm_eps, 1e-6) << "LlamaConfig's default";
  object["attention_bias"] = true;
  EXPECT_TRUE(read(object).model.bias && *read(object).model.out_bias);
  EXPECT_FALSE(*read(object).model.mlp_bias);
  object["model_type"] = "mistral";
  object.erase("attention_bias");
  EXPECT_FALSE(read(object).model.bias);
  object["model_type"] = "qwen2";
  EXPECT_TRUE(read(object).model.bias);
  EXPECT_FALSE(*read(object).model.out_bias);
  EXPECT_FALSE(*read(object).model.mlp_bias);
}

TEST(HfConfig, RopeScalingsAreRead) {
  json object = llama_json();
  object["rope_theta"] = 500000.0;
  object["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 64}};
  const ModelConfig c = read(object).model;
  EXPECT_EQ(c.rope_base, 500000);
  EXPECT_EQ(c.rope_scaling.kind, RopeScalingKind::kLlama3);
  EXPECT_EQ(c.rope_scaling.factor, 8);
  EXPECT_EQ(c.rope_scaling.original_max_positions, 64);
  object["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(read(object).model.rope_scaling.kind, RopeScalingKind::kLinear);
}

TEST(HfConfig, CountsArePossible) {
  for (const json& value : {json(0), json(-8), json(8.5), json("8"), json(true), json(nullptr),
                            json(1LL << 30), json(~0ULL), json::array({8})}) {
    EXPECT_THAT(refusal(gpt2_json(), {{"n_embd", value}}), HasSubstr("config.json: n_embd must be"))
        << value;
  }
  EXPECT_EQ(refusal(gpt2_json(), {{"n_head", 3}}),
            "config.json: n_head 3 does not divide n_embd 8");
  EXPECT_EQ(refusal(llama_json(), {{"num_key_value_heads", 3}}),
            "config.json: num_key_value_heads 3 does not divide num_attention_heads 4");
  EXPECT_THAT(refusal(llama_json(), {{"head_dim", 3}}), HasSubstr("head_dim 3 is odd"));
  EXPECT_THAT(refusal(llama_json(), {{"rms_norm_eps", 0}}), HasSubstr("rms_norm_eps must be"));
  EXPECT_THAT(refusal(llama_json(), {{"rope_theta", -1}}), HasSubstr("rope_theta must be"));
  EXPECT_THAT(refusal(llama_json(), {{"tie_word_embeddings", "yes"}}),
              HasSubstr("tie_word_embeddings must be true or false, it is \"yes\""));
  EXPECT_THAT(refusal(llama_json(), {{"eos_token_id", "</s>"}}), HasSubstr("eos_token_id must be"));
}

TEST(HfConfig, WhatChangesTheMathematicsIsRefusedByItsKey) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, json>>{{"scale_attn_by_inverse_layer_idx", true},
                                                 {"scale_attn_weights", false},
                                                 {"reorder_and_upcast_attn", true},
                                                 {"add_cross_attention", true},
                                                 {"activation_function", "quick_gelu"},
                                                 {"attn_logit_softcapping", 30.0},
                                                 {"num_experts", 8},
                                                 {"sliding_window", 4},
                                                 {"quantization_config", {{"bits", 4}}},
                                                 {"alibi", true}}) {
    EXPECT_THAT(refusal(gpt2_json(), {{key, value}}), HasSubstr("config.json: " + key)) << value;
  }
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, json>>{{"hidden_act", "gelu"},
                                                 {"sliding_window", 4096},
                                                 {"partial_rotary_factor", 0.5},
                                                 {"residual_multiplier", 0.22},
                                                 {"embedding_multiplier", 12.0},
                                                 {"logits_scaling", 16.0},
                                                 {"query_pre_attn_scalar", 256},
                                                 {"use_qk_norm", true},
                                                 {"layer_types", {"sliding_attention"}},
                                                 {"rope_interleave", true},
                                                 {"text_config", {{"hidden_size", 8}}}}) {
    EXPECT_THAT(refusal(llama_json(), {{key, value}}), HasSubstr(key)) << value;
  }
  EXPECT_THAT(
      refusal(llama_json(),
              {{"model_type", "mistral"}, {"use_sliding_window", false}, {"sliding_window", 4096}}),
      HasSubstr("sliding_window 4096"))
      << "a switch that this class has not";
  EXPECT_THAT(refusal(llama_json(), {{"rope_scaling", {{"rope_type", "spiral"}, {"factor", 2.0}}}}),
              HasSubstr("rope_scaling: rope_type 'spiral' is not known"));
  EXPECT_THAT(refusal(llama_json(), {{"rope_scaling", {{"factor", 2.0}}}}),
              HasSubstr("rope_scaling has a factor and no rope_type"));
  EXPECT_THAT(refusal(llama_json(), {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 2.0}}}}),
              HasSubstr("rope_scaling: low_freq_factor must be given"));
  EXPECT_THAT(refusal(gpt2_json(), {{"model_type", "mamba"}}),
              HasSubstr("model_type 'mamba' is not supported"));
  EXPECT_THAT(refusal(gpt2_json(), {{"model_type", nullptr}}), HasSubstr("lacks model_type"));
  EXPECT_THAT(refusal(gpt2_json(), {{"attn_\x1b[31m", 1}}), HasSubstr("attn_\\x1b[31m"));
}

TEST(HfConfig, WhatChangesNothingIsPassedOver) {
  EXPECT_EQ(refusal(gpt2_json(), {{"attn_pdrop", 0.1},
                                  {"n_ctx", 8},
                                  {"summary_first_dropout", 0.1},
                                  {"task_specific_params", {{"text-generation", {{"x", 1}}}}},
                                  {"scale_attn_weights", true},
                                  {"num_experts", nullptr},
                                  {"transformers_version", "4.40"}}),
            "(accepted)");
  EXPECT_EQ(refusal(llama_json(), {{"attention_dropout", 0.1},
                                   {"pretraining_tp", 2},
                                   {"sliding_window", nullptr},
                                   {"use_sliding_window", false},
                                   {"layer_types", {"full_attention"}},
                                   {"rope_scaling", nullptr}}),
            "(accepted)");
  EXPECT_EQ(refusal(llama_json(), {{"use_sliding_window", false}, {"sliding_window", 4096}}),
            "(accepted)");
  EXPECT_EQ(refusal(llama_json(), {{"unsloth_version", "2024.9"}}), "(accepted) unsloth_version");
}

TEST(HfConfig, TheEndComesFromTheGenerationConfigFirst) {
  json object = llama_json();
  object["eos_token_id"] = {2, 3};
  object["bos_token_id"] = 1;
  object["pad_token_id"] = 11;  // outside the vocabulary: pads nothing
  HfConfig config = read(object);
  EXPECT_EQ(config.specials.eos, 2);
  EXPECT_THAT(config.ends, ElementsAre(2, 3));
  EXPECT_FALSE(config.specials.pad.has_value());
  EXPECT_FALSE(config.specials.bos.has_value()) << "nothing is put before a prompt";
  read_generation_config(R"({"eos_token_id": 5, "temperature": 0.6})", "generation_config.json",
                         config);
  EXPECT_EQ(config.specials.eos, 5);
}

}  // namespace
}  // namespace attn
