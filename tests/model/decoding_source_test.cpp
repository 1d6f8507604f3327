#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/configurations.h"
#include "model/decoding.h"

// Answers of encoder-decoders: the source is read once, whatever the configuration.

namespace attn {
namespace {

constexpr Index kSource = 4;
constexpr Index kNew = 7;

struct Problem {
  Transformer<float> model;
  std::vector<Index> source;
  std::vector<Index> begin = {0};

  explicit Problem(const ModelConfig& config)
      : model(config), source(testing::some_ids(kSource, config.source_vocab_size, 3)) {
    testing::scramble(model.params(), 2);
  }
  Generation answer(const GenerationSettings& settings) const {
    return generate<float>(model, SourceTokens{source}, begin, settings);
  }
};

ModelConfig small(Position position = Position::kSinusoidal) {
  ModelConfig config;
  config.arch = Arch::kEncoderDecoder;
  config.source_vocab_size = 12;
  config.encoder_depth = 2;
  config.depth = 1;
  config.dim = 16;
  config.mlp_hidden = 16;
  config.position = position;
  config.max_positions = position == Position::kLearned ? 8 : 0;
  return config.completed();
}

Index rows_of(const Generation& result, const std::string& kind) {
  Index rows = -1;
  for (const auto& [name, count] : result.counts.rows) {
    if (!name.starts_with(kind) && !name.ends_with(kind)) continue;
    EXPECT_TRUE(rows < 0 || rows == count) << name;
    rows = count;
  }
  return rows;
}

GenerationSettings settings_of(bool use_cache) {
  GenerationSettings settings;
  settings.new_tokens = kNew;
  settings.use_cache = use_cache;
  settings.sampling.temperature = 1;  // a greedy answer of noise is often one token for ever
  return settings;
}

// The source once through the encoder and once through each cross-attention; n rows of its own.
TEST(GenerateFromSource, CacheChangesNoTokenAndReadsTheSourceOnce) {
  Index held = 0;
  for (const auto& configuration : testing::configurations()) {
    if (configuration.model.arch != Arch::kEncoderDecoder) continue;
    ++held;
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    const Generation cached = p.answer(settings_of(true));
    const Generation anew = p.answer(settings_of(false));
    EXPECT_EQ(cached.tokens, anew.tokens);
    ASSERT_EQ(cached.tokens.size(), static_cast<std::size_t>(kNew));
    for (std::size_t i = 0; i < cached.log_probs.size(); ++i) {
      // Rows of one token and of many are summed in another order: units of the last place of
      // logits that stay below 30.
      EXPECT_NEAR(cached.log_probs[i], anew.log_probs[i], 1e-4);
    }
    EXPECT_EQ(rows_of(cached, "decoder.blocks.0.attn"), kNew) << "BOS and all but the last";
    EXPECT_EQ(rows_of(cached, ".cross_attn"), kSource);
    EXPECT_EQ(rows_of(cached, "encoder."), kSource);
    EXPECT_EQ(rows_of(anew, "decoder.blocks.0.attn"), kNew * (kNew + 1) / 2);
    EXPECT_EQ(rows_of(anew, ".cross_attn"), kNew * kSource);
    EXPECT_EQ(rows_of(anew, "encoder."), kNew * kSource);
    const ModelConfig& c = p.model.config();
    EXPECT_EQ(cached.cache_bytes, 2 * c.depth * c.kv_heads * c.head_dim * (kNew + kSource) * 4);
    EXPECT_EQ(anew.cache_bytes, 0);
  }
  EXPECT_GE(held, 30);
}

// Fed in any pieces, a session gives the logits of one pass.
TEST(GenerateFromSource, APromptMayBeFedInPieces) {
  const Problem p(small(Position::kRope));
  const std::vector<Index> ids = {0, 3, 1, 4, 1};
  Workspace work;
  TokenInput input;
  input.ids = ids;
  input.rows.seq_len = 5;
  input.source = p.source;
  input.source_rows.seq_len = kSource;
  const Matrix<float> whole = p.model.forward(p.model.pass(work), input, nullptr, nullptr);
  for (const bool cached : {true, false}) {
    for (std::size_t cut = 1; cut <= 4; ++cut) {
      DecodeSession<float> session(p.model, SourceTokens{p.source}, {5, cached});
      const std::span<const Index> all(ids);
      session.feed(all.first(cut));
      const auto logits = session.feed(all.subspan(cut));
      for (Index j = 0; j < 10; ++j) {
        EXPECT_NEAR(logits[static_cast<std::size_t>(j)], whole(4, j), 1e-5) << cut;
      }
    }
  }
}

// What padding holds, and that it is there, changes the answer only in rounding: the same tokens,
// the same log-probabilities to float's last places.
TEST(GenerateFromSource, PaddingOfTheSourceIsNotRead) {
  for (const Position position : {Position::kSinusoidal, Position::kAlibi, Position::kRope}) {
    const Problem p(small(position));
    const Generation alone = p.answer(settings_of(true));
    for (const Index filler : {0, 7, 11}) {
      std::vector<Index> padded = p.source;
      padded.insert(padded.end(), 3, filler);
      std::vector<std::uint8_t> mask(padded.size(), 1);
      std::fill(mask.end() - 3, mask.end(), std::uint8_t{0});
      for (const bool cached : {true, false}) {
        const Generation result =
            generate<float>(p.model, SourceTokens{padded, mask}, p.begin, settings_of(cached));
        EXPECT_EQ(result.tokens, alone.tokens);
        for (std::size_t i = 0; i < alone.log_probs.size(); ++i) {
          EXPECT_NEAR(result.log_probs[i], alone.log_probs[i], 1e-4);
        }
      }
    }
    // And the test can fail: without the mask the padding is read.
    std::vector<Index> longer = p.source;
    longer.insert(longer.end(), 3, 7);
    const Generation other =
        generate<float>(p.model, SourceTokens{longer}, p.begin, settings_of(true));
    EXPECT_GT(std::abs(other.log_probs[0] - alone.log_probs[0]), 1e-3);
  }
}

TEST(GenerateFromSource, EndsWithEos) {
  const Problem p(small());
  const Generation whole = p.answer(settings_of(true));
  for (const bool cached : {true, false}) {
    GenerationSettings settings = settings_of(cached);
    settings.eos = whole.tokens[3];
    const Generation result = p.answer(settings);
    const auto end = std::find(whole.tokens.begin(), whole.tokens.end(), whole.tokens[3]) + 1;
    EXPECT_EQ(result.tokens, std::vector<Index>(whole.tokens.begin(), end));
    EXPECT_EQ(result.finish, Finish::kEos);
    EXPECT_EQ(rows_of(result, ".cross_attn"),
              cached ? kSource : kSource * static_cast<Index>(result.tokens.size()));
  }
}

TEST(GenerateFromSource, ThreadsChangeNoToken) {
  const Problem p(small());
  GenerationSettings settings = settings_of(true);
  const Generation expected = p.answer(settings);
  for (const int threads : {2, 3}) {
    settings.threads = threads;
    const Generation result = p.answer(settings);
    EXPECT_EQ(result.tokens, expected.tokens);
    EXPECT_EQ(result.log_probs, expected.log_probs);
  }
}

std::string refusal(const Problem& p, std::vector<Index> source, std::vector<Index> begin,
                    Index new_tokens) {
  GenerationSettings settings;
  settings.new_tokens = new_tokens;
  try {
    generate<float>(p.model, SourceTokens{source}, begin, settings);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(GenerateFromSource, RefusesWhatCannotBeReadNamingTheNumbers) {
  const Problem p(small(Position::kLearned));
  using ::testing::HasSubstr;
  EXPECT_EQ(refusal(p, p.source, {0}, 8), "") << "a row for BOS and each token but the last";
  EXPECT_THAT(refusal(p, p.source, {0}, 9),
              HasSubstr("the table has 8 rows (max_positions), a prompt of 1 and 9 new tokens need "
                        "9"));
  EXPECT_THAT(refusal(p, std::vector<Index>(9, 1), {0}, 1),
              HasSubstr("the table has 8 rows (max_positions), the source has 9 tokens"));
  EXPECT_THAT(refusal(p, {}, {0}, 1), HasSubstr("the source is empty"));
  EXPECT_THAT(refusal(p, p.source, {}, 1), HasSubstr("the prompt is empty"));
  EXPECT_THAT(refusal(p, {3, 12}, {0}, 1), HasSubstr("the source has token id 12"));
  EXPECT_THAT(refusal(p, p.source, {10}, 1), HasSubstr("the prompt has token id 10"));
  EXPECT_THAT(refusal(p, p.source, {-1}, 1), HasSubstr("token id -1"));
}

TEST(GenerateFromSource, RefusesAModelThatReadsNone) {
  Transformer<float> decoder(ModelConfig{});
  const std::vector<Index> ids = {1, 2};
  GenerationSettings settings;
  settings.new_tokens = 1;
  ModelConfig config;
  config.arch = Arch::kEncoder;
  const Transformer<float> encoder(config);
  EXPECT_THROW(generate<float>(encoder, ids, settings), ShapeError);
  EXPECT_THROW(DecodeSession<float>(decoder, SourceTokens{ids}, {3, true}), ShapeError);
  const Problem p(small());
  EXPECT_THROW(generate<float>(p.model, ids, settings), ShapeError) << "no source";
  const std::vector<std::uint8_t> mask = {1};
  EXPECT_THROW(DecodeSession<float>(p.model, SourceTokens{ids, mask}, {3, true}), ShapeError);
}

}  // namespace
}  // namespace attn
