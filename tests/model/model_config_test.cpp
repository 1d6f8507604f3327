#include "model/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/configurations.h"

namespace attn {
namespace {

std::string refusal(const std::function<void(ModelConfig&)>& change) {
  ModelConfig config;
  change(config);
  try {
    config.completed().validate();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(ModelConfig, NamesTheOptionThatDoesNotFit) {
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.heads = 8;
              c.kv_heads = 3;
            }),
            "--kv-heads must divide --heads: 3 does not divide 8");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.heads = 3; }),
            "--heads must divide --dim where --head-dim is not given: 3 does not divide 64");
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.position = Position::kRope;
              c.head_dim = 5;
            }),
            "--position rope needs an even --head-dim: got 5");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.position = Position::kLearned; }),
            "--position learned needs --max-positions of at least 1: got 0");
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.position = Position::kLearned;
              c.max_positions = 8;
              c.seq_len = 12;
            }),
            "--max-positions must reach --seq-len under --position learned: 8 is less than 12");
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.dim = 5;
              c.heads = 1;
            }),
            "--position sinusoidal needs an even --dim: got 5");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.heads = 0; }), "--heads must be at least 1: got 0");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.dim = -4; }), "--dim must be at least 1: got -4");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.norm_eps = 0; }),
            "--norm-eps must be a number above 0: got 0");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.arch = Arch::kEncoderDecoder; }),
            "--source-vocab-size must be at least 1: got 0");
}

TEST(ModelConfig, AcceptsWhatMakesSense) {
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.heads = 3;
              c.head_dim = 7;  // 3 * 7 is not 64
            }),
            "(accepted)");
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.dim = 5;
              c.heads = 1;
              c.position = Position::kAlibi;
            }),
            "(accepted)");
}

TEST(ModelConfig, NamesOfSwitchesGoBothWays) {
  EXPECT_EQ(enum_name(Arch::kEncoderDecoder), "encoder_decoder");
  EXPECT_EQ(parse_enum<Arch>("encoder-decoder"), Arch::kEncoderDecoder);
  EXPECT_EQ(parse_enum<RopePairs>("half_split"), RopePairs::kHalves);
  EXPECT_EQ(parse_enum<RopePairs>("half-split"), RopePairs::kHalves);
  EXPECT_EQ(parse_enum<MlpActivation>("gelu_tanh"), MlpActivation::kGeluTanh);
  EXPECT_EQ(parse_enum<Position>("Rope"), std::nullopt);
  EXPECT_EQ(parse_enum<InitScheme>("gpt2"), InitScheme::kGpt2);
  EXPECT_EQ(enum_name(InitScheme::kPyTorch), "pytorch");
  EXPECT_EQ(enum_names<NormType>(), (std::vector<std::string>{"layernorm", "rmsnorm"}));
}

TEST(ModelSize, CountsTheTutorialsModelAndABlockAtWidth512) {
  EXPECT_EQ(count_parameters(ModelConfig()).total, 101386);
  ModelConfig config;
  config.dim = 512;
  config.heads = 8;
  config.mlp_hidden = 2048;
  EXPECT_EQ(count_parameters(config).block, 3152384);
}

// What their authors' own code counts: nanoGPT's recipe for a CPU (no bias anywhere) and GPT-2
// small, both with a tied head.
TEST(ModelSize, CountsTheModelsPeopleKnow) {
  ModelConfig recipe;
  recipe.vocab_size = 65;
  recipe.dim = 128;
  recipe.depth = 4;
  recipe.position = Position::kLearned;
  recipe.max_positions = 64;
  recipe.tie_embeddings = true;
  recipe.bias = recipe.norm_bias = false;
  EXPECT_EQ(count_parameters(recipe).total, 804096);
  EXPECT_EQ(Transformer<float>(recipe).params().size(), 804096);

  ModelConfig gpt2;
  gpt2.vocab_size = 50257;
  gpt2.dim = 768;
  gpt2.heads = gpt2.depth = 12;
  gpt2.position = Position::kLearned;
  gpt2.max_positions = 1024;
  gpt2.tie_embeddings = true;
  EXPECT_EQ(count_parameters(gpt2).total, 124439808);
}

TEST(ModelSize, EveryConfigurationsCountIsItsModels) {
  for (const auto& configuration : testing::configurations()) {
    SCOPED_TRACE(configuration.name);
    const Transformer<float> model(configuration.model);
    const ParameterCounts counts = count_parameters(configuration.model);
    EXPECT_EQ(counts.total, model.params().size());
    Index norms = 0;
    Index mlp = 0;
    for (const ParamInfo& info : model.params().list()) {
      if (info.name.find("norm") != std::string::npos) norms += info.place.size();
      if (info.name.find(".mlp.") != std::string::npos) mlp += info.place.size();
    }
    EXPECT_EQ(counts.norms, norms);
    EXPECT_EQ(counts.mlp, mlp);
    EXPECT_EQ(counts.total, counts.tokens + counts.positions + counts.attention + counts.mlp +
                                counts.norms + counts.head);
  }
}

// The tutorial's model: 2 (2 * 49152 + 640) for the matrices of two blocks and the head, and
// 4 * 12 * 64 * 2 for scores and mixing over 12 tokens.
TEST(ModelSize, FlopsOfAToken) {
  EXPECT_EQ(forward_flops_per_token(ModelConfig(), 12), 2 * (2 * 49152 + 640) + 4 * 12 * 64 * 2);
}

TEST(ModelSize, RefusesWhatNoMemoryHolds) {
  ModelConfig config;
  config.dim = 1000000000000;
  config.heads = 1;
  EXPECT_THROW(count_parameters(config), UsageError);
  EXPECT_THROW(Transformer<float>{config}, UsageError);
}

TEST(ModelSize, ChunksHoldAboutAMebibyte) {
  const ModelConfig config;
  const Index chunk = chunk_sequences(config, 12);
  const Index bytes = chunk * activation_bytes(config, 12);
  EXPECT_LE(bytes, 1 << 20);
  EXPECT_GT(bytes, 1 << 19);
  EXPECT_EQ(chunk_sequences(config, 1000000), 1) << "one sequence at least";
}

}  // namespace
}  // namespace attn
