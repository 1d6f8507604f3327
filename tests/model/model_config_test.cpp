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
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.arch = Arch::kEncoderDecoder;
              c.source_vocab_size = -1;
            }),
            "--source-vocab-size must be at least 1: got -1");
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.arch = Arch::kEncoderDecoder;
              c.encoder_depth = -2;
            }),
            "--encoder-depth must be at least 1: got -2");
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.position = Position::kRope;
              c.rope_base = 0;
            }),
            "--rope-base must be a number above 0: got 0");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.kv_heads = -2; }),
            "--kv-heads must be at least 1: got -2");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.mlp_hidden = -1; }),
            "--mlp-hidden must be at least 1: got -1");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.seq_len = -1; }),
            "--seq-len must not be negative: got -1");
}

TEST(ModelConfig, AStretchThatMovesEarlierKeysBoundsTheSequence) {
  ModelConfig c;
  c.position = Position::kRope;
  c.rope_scaling.factor = 4;
  c.rope_scaling.original_max_positions = 32;
  for (const auto& [kind, bounded] :
       {std::pair(RopeScalingKind::kLlama3, false), std::pair(RopeScalingKind::kYarn, false),
        std::pair(RopeScalingKind::kDynamic, true)}) {
    c.rope_scaling.kind = kind;
    EXPECT_EQ(c.longest_sequence().has_value(), bounded) << rope_scaling_name(kind);
  }
  EXPECT_EQ(c.longest_sequence(), 32);
  EXPECT_EQ(c.longest_sequence_reason(),
            "rope scaling dynamic: exact up to 32 tokens (original_max_positions), beyond which "
            "earlier keys turn too");
  // The model itself holds to it.
  const Rotary<float> rotary(c.completed().head_dim, c.rope_base, c.rope_style, c.rope_scaling);
  Tensor<float> row({1, c.completed().head_dim});
  EXPECT_NO_THROW(rotary.rotate(31, row.matrix()));
  EXPECT_THROW(rotary.rotate(32, row.matrix()), ShapeError);
}

TEST(ModelConfig, AStretchWithoutItsParametersIsRefused) {
  EXPECT_EQ(refusal([](ModelConfig& c) {
              c.position = Position::kRope;
              c.rope_scaling.kind = RopeScalingKind::kYarn;
            }),
            "rope scaling: yarn needs original_max_position_embeddings");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.rope_scaling.kind = RopeScalingKind::kYarn; }),
            "(accepted)")
      << "without rope it says nothing";
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

TEST(ModelConfig, AnEncoderIsAsItsDecoderUnlessSaid) {
  ModelConfig config;
  config.arch = Arch::kEncoderDecoder;
  config.vocab_size = 30;
  config.depth = 5;
  EXPECT_EQ(config.completed().source_vocab_size, 30);
  EXPECT_EQ(config.completed().encoder_depth, 5);
  config.source_vocab_size = 20;
  config.encoder_depth = 1;
  EXPECT_EQ(config.completed().source_vocab_size, 20);
  EXPECT_EQ(config.completed().encoder_depth, 1);
  EXPECT_EQ(ModelConfig().completed().encoder_depth, 0) << "one stack has none";
}

// Every switch goes with every other: what is refused is refused for a number.
TEST(ModelConfig, EverySwitchGoesWithEveryOther) {
  for (const std::string& arch : enum_names<Arch>()) {
    for (const std::string& position : enum_names<Position>()) {
      for (const std::string& activation : enum_names<MlpActivation>()) {
        for (int bits = 0; bits < 64; ++bits) {
          const auto bit = [bits](int which) { return (bits >> which) % 2 == 1; };
          ModelConfig c;
          c.arch = *parse_enum<Arch>(arch);
          c.position = *parse_enum<Position>(position);
          c.activation = *parse_enum<MlpActivation>(activation);
          c.norm = bit(0) ? NormPlacement::kPost : NormPlacement::kPre;
          c.norm_type = bit(1) ? NormType::kRmsNorm : NormType::kLayerNorm;
          c.tie_embeddings = bit(2);
          c.bias = bit(3);
          c.norm_bias = bit(4);
          c.kv_heads = bit(5) ? 1 : 0;
          c.max_positions = 12;
          c.seq_len = 12;
          EXPECT_NO_THROW(c.completed().validate()) << arch << ' ' << position << ' ' << bits;
        }
      }
    }
  }
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

// Two stacks of one block, 4 wide, an MLP of 8, 3 + 6 tokens: a decoder's token multiplies 64
// (self)
// + 32 (cross, q and out) + 64 (MLP) + 20 (head) parameters and sees 3 + 6 keys of 4; a source's 64
// + 64 of the encoder and 32 (cross, k and v), and sees 6.
TEST(ModelSize, FlopsOfATokenWithASource) {
  ModelConfig c;
  c.arch = Arch::kEncoderDecoder;
  c.vocab_size = 5;
  c.dim = 4;
  c.heads = 2;
  c.mlp_hidden = 8;
  c.depth = c.encoder_depth = 1;
  const double target = 2 * (64 + 32 + 64 + 20) + 4 * 4 * (3 + 6);
  const double source = 2 * (64 + 64 + 32) + 4 * 4 * 6;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(c, 3, 6), target + source * 6 / 3);
  c.tie_embeddings = true;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(c, 3, 6), target + source * 6 / 3) << "all the same";
}

// What the arena held after a pass with a tape, against the formula: rough, as it says, but neither
// half nor twice, with a source and without.
TEST(ModelSize, ActivationsAreWhatATapeHolds) {
  for (const auto& [arch, source_len] :
       {std::pair(Arch::kDecoder, Index{0}), std::pair(Arch::kEncoder, Index{0}),
        std::pair(Arch::kEncoderDecoder, Index{8}), std::pair(Arch::kEncoderDecoder, Index{64})}) {
    ModelConfig c;
    c.arch = arch;
    const Transformer<float> model(c);
    const std::vector<Index> ids(4 * 32, 1);
    const std::vector<Index> source(static_cast<std::size_t>(4 * source_len), 1);
    Workspace work;
    TransformerTape<float> tape;
    TokenInput input{ids, {4, 32, nullptr}, source, {4, source_len, nullptr}};
    model.forward(model.pass(work), input, nullptr, &tape);
    const double held = static_cast<double>(work.arena().peak_bytes());
    const double said = 4 * static_cast<double>(activation_bytes(c, 32, source_len));
    EXPECT_LT(said, 1.5 * held) << enum_name(arch) << ' ' << source_len;
    EXPECT_GT(said, held / 1.5) << enum_name(arch) << ' ' << source_len;
  }
}

TEST(ModelSize, RefusesWhatNoMemoryHolds) {
  ModelConfig config;
  config.dim = 1000000000000;
  config.heads = 1;
  EXPECT_THROW(count_parameters(config), UsageError);
  EXPECT_THROW(Transformer<float>{config}, UsageError);
}

TEST(ModelSize, ChunksHoldOneToTwoMebibytes) {
  const ModelConfig config;
  const Index chunk = chunk_sequences(config, 12);
  const Index bytes = chunk * activation_bytes(config, 12);
  EXPECT_LE(bytes, 1 << 21);
  EXPECT_GT(bytes, 1 << 20);
  EXPECT_EQ(chunk_sequences(config, 1000000), 1) << "one sequence at least";
}

}  // namespace
}  // namespace attn
