#include "model/decoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/configurations.h"

namespace attn {
namespace {

ModelConfig tiny(Position position = Position::kSinusoidal) {
  ModelConfig config;
  config.dim = 16;
  config.mlp_hidden = 16;
  config.position = position;
  config.max_positions = position == Position::kLearned ? 12 : 0;
  return config.completed();
}

Transformer<float>& scrambled(Transformer<float>& model) {
  testing::scramble(model.params(), 11);
  return model;
}

TEST(ChooseToken, GreedyTakesTheLowestIdOfEquals) {
  const std::vector<float> logits = {1, 3, 2, 3};
  EXPECT_EQ(choose_token<float>(logits, {}, 0), 1);
}

TEST(ChooseToken, RefusesATemperatureThatIsNone) {
  const std::vector<float> logits = {1, 2};
  for (const double temperature :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(choose_token<float>(logits, {temperature, 0, 0}, 0), UsageError) << temperature;
  }
}

// 4000 positions: a share p of them is off by 3 * sqrt(p (1 - p) / 4000) < 0.024 in one of 400
// runs; the seed is fixed.
TEST(ChooseToken, DrawsInTheSharesOfTheSoftmax) {
  const std::vector<double> logits = {0.0, std::log(3.0), -std::numeric_limits<double>::infinity(),
                                      std::log(6.0)};
  std::vector<double> share(4, 0.0);
  for (Index position = 0; position < 4000; ++position) {
    const Index token = choose_token<double>(logits, {1.0, 5, 0}, position);
    share[static_cast<std::size_t>(token)] += 1.0 / 4000;
  }
  EXPECT_NEAR(share[0], 0.1, 0.024);
  EXPECT_NEAR(share[1], 0.3, 0.024);
  EXPECT_EQ(share[2], 0);
  EXPECT_NEAR(share[3], 0.6, 0.024);
}

TEST(ChooseToken, ALowTemperatureIsGreedyAndNeverOverflows) {
  const std::vector<float> logits = {-300, 300, 299};
  EXPECT_EQ(choose_token<float>(logits, {1e-6, 1, 0}, 0), 1);
  const std::vector<float> far = {-3e38F, 3e38F};
  EXPECT_EQ(choose_token<float>(far, {0.5, 1, 0}, 0), 1);
}

TEST(ChooseToken, SamplesAndPositionsAreIndependentStreams) {
  const std::vector<float> logits(1000, 0.0F);
  const Index a = choose_token<float>(logits, {1.0, 1, 0}, 7);
  EXPECT_EQ(choose_token<float>(logits, {1.0, 1, 0}, 7), a) << "the same draw again";
  EXPECT_NE(choose_token<float>(logits, {1.0, 1, 1}, 7), a);
  EXPECT_NE(choose_token<float>(logits, {1.0, 1, 0}, 8), a);
  EXPECT_NE(choose_token<float>(logits, {1.0, 2, 0}, 7), a);
}

TEST(Generate, CountsRowsWithAndWithoutCache) {
  Transformer<float> model(tiny());
  scrambled(model);
  const std::vector<Index> prompt = {3, 5, 7};
  const Index p = 3;
  const Index n = 6;
  GenerationSettings settings;
  settings.new_tokens = n;
  const Generation cached = generate<float>(model, prompt, settings);
  EXPECT_EQ(cached.counts.each(), p + n - 1);
  EXPECT_EQ(cached.counts.rows.size(), 2U) << "one count for each key projection";
  EXPECT_EQ(cached.cache_bytes, 2 * 2 * 64 / 4 * (p + n - 1) * 4);
  settings.use_cache = false;
  const Generation uncached = generate<float>(model, prompt, settings);
  EXPECT_EQ(uncached.counts.each(), n * p + n * (n - 1) / 2);
  EXPECT_EQ(uncached.tokens, cached.tokens);
  EXPECT_EQ(uncached.tokens.size(), 6U);
  EXPECT_EQ(uncached.cache_bytes, 0);
}

// The tutorial's experiment: 512 tokens through one layer.
TEST(Generate, Projects512RowsOr131328) {
  ModelConfig config;
  config.dim = 4;
  config.heads = 1;
  config.depth = 1;
  config.mlp_hidden = 4;
  Transformer<float> model(config);
  scrambled(model);
  const std::vector<Index> prompt = {1};
  GenerationSettings settings;
  settings.new_tokens = 512;
  EXPECT_EQ(generate<float>(model, prompt, settings).counts.each(), 512);
  settings.use_cache = false;
  EXPECT_EQ(generate<float>(model, prompt, settings).counts.each(), 131328);
}

TEST(Generate, ThreadsChangeNoToken) {
  Transformer<float> model(tiny(Position::kRope));
  scrambled(model);
  const std::vector<Index> prompt = {3, 5};
  GenerationSettings settings;
  settings.new_tokens = 20;
  settings.sampling.temperature = 1;
  const auto expected = generate<float>(model, prompt, settings).tokens;
  std::vector<Index> heard;
  settings.on_token = [&](Index token) { heard.push_back(token); };
  for (const int threads : {2, 3, 8}) {
    settings.threads = threads;
    heard.clear();
    EXPECT_EQ(generate<float>(model, prompt, settings).tokens, expected) << threads;
    EXPECT_EQ(heard, expected);
  }
}

TEST(Generate, RefusesAnEmptyPromptAndMoreThanTheTableHolds) {
  Transformer<float> model(tiny(Position::kLearned));
  scrambled(model);
  GenerationSettings settings;
  settings.new_tokens = 9;
  EXPECT_THROW(generate<float>(model, {}, settings), UsageError);
  const std::vector<Index> prompt = {1, 2, 3, 4};
  try {
    generate<float>(model, prompt, settings);
    FAIL() << "13 positions of 12";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the table has 12 rows"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("4"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("9"));
  }
  settings.new_tokens = std::numeric_limits<Index>::max();
  EXPECT_THROW(generate<float>(model, prompt, settings), UsageError) << "their sum leaves 63 bits";
  settings.new_tokens = 8;
  EXPECT_EQ(generate<float>(model, prompt, settings).tokens.size(), 8U);
  settings.new_tokens = 0;
  EXPECT_TRUE(generate<float>(model, prompt, settings).tokens.empty());
  settings.new_tokens = -1;
  EXPECT_THROW(generate<float>(model, prompt, settings), UsageError);
}

}  // namespace
}  // namespace attn
