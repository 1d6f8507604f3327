#include "model/decoding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  settings.on_token = [&](Index, Index token) {
    heard.push_back(token);
    return true;
  };
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
  settings.new_tokens = 10;
  EXPECT_THROW(generate<float>(model, {}, settings), UsageError);
  const std::vector<Index> prompt = {1, 2, 3, 4};
  try {
    generate<float>(model, prompt, settings);
    FAIL() << "13 positions of 12";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the table has 12 rows"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("a prompt of 4 and 10 new tokens need 13"));
  }
  settings.new_tokens = std::numeric_limits<Index>::max();
  EXPECT_THROW(generate<float>(model, prompt, settings), UsageError) << "their sum leaves 63 bits";
  // The last new token is not read, so the table needs no row for it.
  ASSERT_EQ(longest_continuation(model.config(), 4), 9);
  settings.new_tokens = 9;
  EXPECT_EQ(generate<float>(model, prompt, settings).tokens.size(), 9U);
  settings.new_tokens = 0;
  EXPECT_TRUE(generate<float>(model, prompt, settings).tokens.empty());
  settings.new_tokens = -1;
  EXPECT_THROW(generate<float>(model, prompt, settings), UsageError);
}

TEST(Generate, RefusesIdsOutsideTheVocabulary) {
  Transformer<float> model(tiny());
  scrambled(model);
  GenerationSettings settings;
  settings.new_tokens = 1;
  for (const Index id : {Index{10}, Index{-1}}) {
    const std::vector<Index> prompt = {3, id};
    EXPECT_THROW(generate<float>(model, prompt, settings), UsageError) << id;
  }
}

// The same logits as fed by hand, one token at a time, and their log-probabilities.
TEST(Generate, TellsTheLogProbabilityOfEachToken) {
  Transformer<float> model(tiny(Position::kAlibi));
  scrambled(model);
  const std::vector<Index> prompt = {3, 5, 7};
  GenerationSettings settings;
  settings.new_tokens = 6;
  settings.sampling.temperature = 2;
  const Generation result = generate<float>(model, prompt, settings);
  ASSERT_EQ(result.log_probs.size(), 6U);
  DecodeSession<float> session(model, {8, true});
  std::vector<Index> fed = prompt;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 6; ++i) {
    const auto logits = session.feed(fed);
    EXPECT_EQ(result.log_probs[i], log_probability<float>(logits, result.tokens[i])) << i;
    NextToken next(logits, {}, settings.sampling);
    least = std::min(least, next.margin(drawn_number(settings.sampling, session.length())));
    fed = {result.tokens[i]};
  }
  EXPECT_EQ(result.smallest_lead, least);
}

TEST(Generate, EndsWithEosAndWithoutItGoesOn) {
  Transformer<float> model(tiny(Position::kRope));
  scrambled(model);
  const std::vector<Index> prompt = {3, 5, 7};
  GenerationSettings settings;
  settings.new_tokens = 12;
  settings.sampling.temperature = 3;  // so that tokens differ
  const Generation whole = generate<float>(model, prompt, settings);
  ASSERT_EQ(whole.tokens.size(), 12U);
  EXPECT_EQ(whole.finish, Finish::kLength);
  for (const Index eos : whole.tokens) {
    settings.eos = eos;
    const auto end = std::find(whole.tokens.begin(), whole.tokens.end(), eos) + 1;
    const std::vector<Index> expected(whole.tokens.begin(), end);
    for (const bool cached : {true, false}) {
      settings.use_cache = cached;
      const Generation result = generate<float>(model, prompt, settings);
      EXPECT_EQ(result.tokens, expected) << "EOS " << eos;
      EXPECT_EQ(result.finish, Finish::kEos);
      const auto n = static_cast<Index>(expected.size());
      EXPECT_EQ(result.log_probs.size(), expected.size());
      EXPECT_EQ(result.counts.each(), cached ? 3 + n - 1 : 3 * n + n * (n - 1) / 2);
    }
  }
  settings.eos = whole.tokens.back();
  settings.new_tokens = 12;
  for (Index id = 0; id < 10; ++id) {
    if (std::find(whole.tokens.begin(), whole.tokens.end(), id) != whole.tokens.end()) continue;
    settings.eos = id;
    EXPECT_EQ(generate<float>(model, prompt, settings).tokens, whole.tokens) << "never drawn";
  }
}

}  // namespace
}  // namespace attn
