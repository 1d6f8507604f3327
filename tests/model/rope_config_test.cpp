#include "model/rope_config.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

RopeConfig read(std::string_view text, const std::string& layer = "") {
  return parse_rope_config(text, "config.json", layer);
}

std::string complaint(std::string_view text, const std::string& layer = "") {
  try {
    read(text, layer);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

TEST(RopeConfig, Llama3) {
  const RopeConfig c = read(R"({"model_type": "llama", "hidden_size": 4096,
    "num_attention_heads": 32, "max_position_embeddings": 131072, "rope_theta": 500000.0,
    "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 8192, "rope_type": "llama3"}})");
  EXPECT_EQ(c.theta, 500000);
  EXPECT_TRUE(c.theta_given);
  EXPECT_EQ(c.head_dim, 128);
  EXPECT_EQ(c.rotary_dim, 128);
  EXPECT_EQ(c.max_positions, 131072);
  EXPECT_EQ(c.pairs, RopePairs::kHalves);
  EXPECT_EQ(
      c.scaling,
      (RopeScaling{.kind = RopeScalingKind::kLlama3, .factor = 8, .original_max_positions = 8192}));
}

TEST(RopeConfig, NewSpellingHoldsEverythingInRopeParameters) {
  const RopeConfig c = read(R"({"head_dim": 64, "max_position_embeddings": 4096,
    "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000, "factor": 32.0,
      "beta_fast": 16, "beta_slow": 2, "truncate": false, "partial_rotary_factor": 0.5,
      "attention_factor": 1.25, "original_max_position_embeddings": 2048}})");
  EXPECT_EQ(c.theta, 150000);
  EXPECT_EQ(c.rotary_dim, 32);
  EXPECT_EQ(c.scaling.kind, RopeScalingKind::kYarn);
  EXPECT_EQ(c.scaling.original_max_positions, 2048);
  EXPECT_EQ(c.scaling.beta_fast, 16);
  EXPECT_EQ(c.scaling.beta_slow, 2);
  EXPECT_FALSE(c.scaling.truncate);
  EXPECT_EQ(c.scaling.attention_factor, 1.25);
}

TEST(RopeConfig, OldTypeKeyAndOldLongropeName) {
  const RopeConfig c = read(R"({"hidden_size": 8, "num_attention_heads": 2,
    "max_position_embeddings": 64, "original_max_position_embeddings": 16,
    "rope_scaling": {"type": "su", "long_factor": [2, 3], "short_factor": [1, 1.5]}})");
  EXPECT_EQ(c.scaling.kind, RopeScalingKind::kLongrope);
  EXPECT_EQ(c.scaling.factor, 4) << "64 / 16";
  EXPECT_EQ(c.scaling.original_max_positions, 16);
  EXPECT_EQ(c.scaling.long_factor, (std::vector<double>{2, 3}));
  EXPECT_FALSE(c.theta_given);
  EXPECT_EQ(c.theta, 10000);
}

TEST(RopeConfig, DynamicIsTrainedAtMaxPositions) {
  const RopeConfig c = read(R"({"head_dim": 8, "max_position_embeddings": 512,
    "rope_scaling": {"type": "dynamic", "factor": 2}})");
  EXPECT_EQ(c.scaling.original_max_positions, 512);
}

TEST(RopeConfig, PartOfAHead) {
  EXPECT_EQ(read(R"({"hidden_size": 64, "num_attention_heads": 2, "rotary_pct": 0.25,
    "rotary_emb_base": 500})")
                .rotary_dim,
            8);
  const RopeConfig gptj =
      read(R"({"model_type": "gptj", "n_embd": 64, "n_head": 2, "rotary_dim": 16})");
  EXPECT_EQ(gptj.head_dim, 32);
  EXPECT_EQ(gptj.rotary_dim, 16);
  EXPECT_EQ(gptj.pairs, RopePairs::kInterleaved);
}

TEST(RopeConfig, LatentAttentionTurnsItsOwnPart) {
  const RopeConfig c = read(R"({"model_type": "deepseek_v3", "hidden_size": 64,
    "num_attention_heads": 3, "qk_rope_head_dim": 16, "rope_interleave": true})");
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.rotary_dim, 16);
  EXPECT_EQ(c.pairs, RopePairs::kInterleaved);
}

TEST(RopeConfig, AModelInsideIsFound) {
  EXPECT_EQ(
      read(R"({"model_type": "gemma3", "text_config": {"head_dim": 8, "rope_theta": 7}})").theta,
      7);
}

TEST(RopeConfig, LayersOfSeveralKindsMustBeNamed) {
  const char* old_spelling = R"({"head_dim": 8, "rope_theta": 1000000,
    "rope_local_base_freq": 10000, "rope_scaling": {"rope_type": "linear", "factor": 8}})";
  EXPECT_EQ(complaint(old_spelling),
            "config.json: its layers have rope of 2 kinds: full_attention, sliding_attention; one "
            "must be named");
  EXPECT_EQ(read(old_spelling, "full_attention").scaling.factor, 8);
  const RopeConfig sliding = read(old_spelling, "sliding_attention");
  EXPECT_EQ(sliding.theta, 10000);
  EXPECT_EQ(sliding.scaling, RopeScaling{});
  const char* new_spelling = R"({"head_dim": 8, "rope_parameters": {
    "full_attention": {"rope_type": "default", "rope_theta": 5},
    "sliding_attention": {"rope_type": "default", "rope_theta": 6}}})";
  EXPECT_EQ(read(new_spelling, "sliding_attention").theta, 6);
  EXPECT_EQ(complaint(new_spelling, "chunked"),
            "config.json: no layers are of type 'chunked'; it has full_attention, "
            "sliding_attention");
  EXPECT_EQ(complaint(R"({"head_dim": 8})", "full_attention"),
            "config.json: all its layers have the same rope: none is to be named");
}

TEST(RopeConfig, RefusesInOneLine) {
  EXPECT_EQ(complaint("[1]"), "config.json: a configuration must be a JSON object");
  EXPECT_EQ(complaint("{"), "config.json: not JSON: it breaks at byte 2");
  EXPECT_EQ(complaint(R"({"rope_theta": 5})"),
            "config.json: needs head_dim, or hidden_size and num_attention_heads");
  EXPECT_EQ(complaint(R"({"head_dim": 8, "rope_theta": "big"})"),
            R"(config.json: rope_theta must be a number, it is "big")");
  EXPECT_EQ(complaint(R"({"head_dim": 8, "rope_scaling": 3})"),
            "config.json: rope_scaling must be an object, it is 3");
  EXPECT_EQ(complaint(R"({"head_dim": 8, "rope_scaling": {"type": "linear"}})"),
            "config.json: rope type 'linear' needs a factor");
  EXPECT_EQ(complaint(R"({"head_dim": 8, "rope_scaling": {"type": "yarn", "factor": 2}})"),
            "config.json: yarn needs original_max_position_embeddings");
  EXPECT_EQ(complaint(R"({"head_dim": 8, "rope_scaling": {"rope_type": "proportional"}})"),
            "config.json: rope_scaling: rope_type 'proportional' is not known; known are default, "
            "linear, ntk, "
            "dynamic, yarn, llama3 and longrope");
  EXPECT_EQ(complaint(R"({"head_dim": 8, "partial_rotary_factor": 0.4})"),
            "config.json: an even number of features must turn, from 2 to head_dim 8, not 3 "
            "(partial_rotary_factor, rotary_dim or head_dim)");
  EXPECT_EQ(complaint(R"({"model_type": "gpt2", "n_embd": 8, "n_head": 2})"),
            "config.json: model_type 'gpt2' has no rotary positions");
}

}  // namespace
}  // namespace attn
