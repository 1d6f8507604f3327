#include "model/beam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "model/configurations.h"

namespace attn {
namespace {

ModelConfig tiny(Index vocab_size = 5) {
  ModelConfig config;
  config.vocab_size = vocab_size;
  config.dim = 16;
  config.mlp_hidden = 16;
  return config.completed();
}

struct Tiny : Transformer<double> {
  explicit Tiny(Index vocab_size = 5) : Transformer<double>(tiny(vocab_size)) {
    testing::scramble(params(), 5);
  }
};

BeamSettings wide(Index width, Index new_tokens) {
  BeamSettings settings;
  settings.width = width;
  settings.new_tokens = new_tokens;
  settings.keep_rounds = true;
  return settings;
}

// ln p of tokens after a prompt, each from a pass of its own.
double log_prob_of(const Transformer<double>& model, const std::vector<Index>& prompt,
                   const std::vector<Index>& tokens) {
  std::vector<Index> ids = prompt;
  double sum = 0;
  for (const Index token : tokens) {
    SessionSettings settings;
    settings.capacity = static_cast<Index>(ids.size());
    settings.use_cache = false;
    DecodeSession<double> session(model, settings);
    sum += log_probability<double>(session.feed(ids), token);
    ids.push_back(token);
  }
  return sum;
}

const std::vector<Index> kPrompt = {1, 3};

TEST(Beams, AsWideAsAllContinuationsFindTheBestOfThem) {
  const Tiny model;
  constexpr Index kAll = 5 * 5 * 5;
  const BeamResult found = search_beams<double>(model, nullptr, kPrompt, wide(kAll, 3));
  ASSERT_EQ(found.hypotheses.size(), static_cast<std::size_t>(kAll));
  EXPECT_EQ(found.rounds[0].size(), 5U) << "no more than there are";
  EXPECT_EQ(found.rounds[1].size(), 25U);
  for (Index i = 0; i < kAll; ++i) {
    const Hypothesis& one = found.hypotheses[static_cast<std::size_t>(i)];
    EXPECT_NEAR(one.log_prob, log_prob_of(model, kPrompt, one.tokens), 1e-12) << i;
    EXPECT_EQ(one.score, one.log_prob / 3) << "length penalty 1";
    if (i > 0) {
      EXPECT_GE(found.hypotheses[static_cast<std::size_t>(i - 1)].score, one.score);
    }
  }
}

TEST(Beams, OfWidthOneAreGreedyWithAndWithoutEos) {
  const Tiny model;
  GenerationSettings greedy;
  greedy.new_tokens = 12;
  for (Index eos = -1; eos < 5; ++eos) {
    BeamSettings settings = wide(1, 12);
    if (eos >= 0) settings.eos = greedy.eos = eos;
    const BeamResult found = search_beams<double>(model, nullptr, kPrompt, settings);
    const Generation wanted = generate<double>(model, kPrompt, greedy);
    ASSERT_EQ(found.hypotheses.size(), 1U);
    EXPECT_EQ(found.hypotheses[0].tokens, wanted.tokens) << eos;
    EXPECT_EQ(found.hypotheses[0].log_probs, wanted.log_probs) << eos;
    EXPECT_EQ(found.hypotheses[0].finish, wanted.finish) << eos;
  }
}

TEST(Beams, FinishedHypothesesStayAndCompete) {
  const Tiny model;
  for (const double penalty : {0.0, 0.7, 1.0, 3.0}) {
    BeamSettings settings = wide(4, 6);
    settings.eos = 2;
    settings.length_penalty = penalty;
    const BeamResult found = search_beams<double>(model, nullptr, kPrompt, settings);
    for (const Hypothesis& one : found.hypotheses) {
      EXPECT_EQ(one.finished(), one.tokens.back() == 2);
      EXPECT_NEAR(one.log_prob, log_prob_of(model, kPrompt, one.tokens), 1e-12);
      EXPECT_NEAR(one.score,
                  one.log_prob / std::pow(static_cast<double>(one.tokens.size()), penalty), 1e-12);
    }
    // What has ended is in every later pool until something better pushes it out.
    for (std::size_t round = 0; round + 1 < found.rounds.size(); ++round) {
      const double worst = found.rounds[round + 1].back().score;
      for (const Hypothesis& one : found.rounds[round]) {
        if (!one.finished() || one.score < worst) continue;
        EXPECT_TRUE(std::any_of(found.rounds[round + 1].begin(), found.rounds[round + 1].end(),
                                [&](const Hypothesis& h) { return h.tokens == one.tokens; }));
      }
    }
  }
}

TEST(Beams, EndWhenAllHaveEnded) {
  const Tiny model(2);
  BeamSettings settings = wide(2, 50);
  settings.eos = 0;
  settings.stop_ids = {1};
  const BeamResult found = search_beams<double>(model, nullptr, std::vector<Index>{1, 0}, settings);
  EXPECT_EQ(found.rounds.size(), 1U);
  for (const Hypothesis& one : found.hypotheses) {
    EXPECT_EQ(one.finish, one.tokens[0] == 0 ? Finish::kEos : Finish::kStopToken);
  }
}

// With a cache a prompt of P is read once; each later round reads one row of each hypothesis.
TEST(Beams, ReadThePromptOnce) {
  const Tiny model;
  const BeamResult found = search_beams<double>(model, nullptr, kPrompt, wide(3, 6));
  EXPECT_EQ(found.counts.each(), 2 + 5 * 3);
  EXPECT_EQ(found.cache_bytes, 2 * 2 * 16 * (2 + 5) * 3 * 8);
}

// 8 rows of the prompt fill two pages that all hypotheses share; the two rows after them are each
// one's own, whoever its parents were.
TEST(Beams, ShareThePagesOfThePrompt) {
  const Tiny model;
  BeamSettings settings = wide(3, 3);
  settings.layout.page_size = 4;
  const std::vector<Index> prompt = {1, 3, 0, 2, 4, 4, 1, 2};
  const BeamResult found = search_beams<double>(model, nullptr, prompt, settings);
  ASSERT_EQ(found.hypotheses.size(), 3U);
  EXPECT_EQ(found.counts.each(), 8 + 2 * 3);
  const Index row_bytes = model.make_cache(1, 1).row_bytes();
  EXPECT_EQ(found.cache_bytes, (2 + 3) * 4 * row_bytes);
}

TEST(Beams, AreTheSameHoweverTheyAreComputed) {
  for (const auto& configuration : testing::configurations()) {
    SCOPED_TRACE(configuration.name);
    Transformer<double> model(configuration.model);
    testing::scramble(model.params(), 2);
    const std::vector<Index> source = {3, 1, 4, 0};
    const SourceTokens tokens{source};
    const SourceTokens* read =
        configuration.model.arch == Arch::kEncoderDecoder ? &tokens : nullptr;
    const BeamResult expected = search_beams<double>(model, read, kPrompt, wide(3, 5));
    for (const auto& [use_cache, chunk, threads] :
         std::vector<std::tuple<bool, Index, int>>{{false, 0, 1}, {true, 1, 1}, {true, 0, 3}}) {
      BeamSettings settings = wide(3, 5);
      settings.use_cache = use_cache;
      settings.prefill_chunk = chunk;
      settings.threads = threads;
      const BeamResult found = search_beams<double>(model, read, kPrompt, settings);
      ASSERT_EQ(found.hypotheses.size(), expected.hypotheses.size());
      // Rounding of double; far below the least lead of scrambled models.
      ASSERT_GT(expected.smallest_lead, 1e-9);
      for (std::size_t i = 0; i < found.hypotheses.size(); ++i) {
        EXPECT_EQ(found.hypotheses[i].tokens, expected.hypotheses[i].tokens);
        EXPECT_NEAR(found.hypotheses[i].log_prob, expected.hypotheses[i].log_prob, 1e-10);
      }
    }
  }
}

TEST(Beams, RefuseWhatCannotBeSearched) {
  Tiny model;
  EXPECT_THROW(search_beams<double>(model, nullptr, kPrompt, wide(0, 3)), UsageError);
  EXPECT_THROW(search_beams<double>(model, nullptr, {}, wide(2, 3)), UsageError);
  BeamSettings settings = wide(2, 3);
  settings.length_penalty = HUGE_VAL;
  EXPECT_THROW(search_beams<double>(model, nullptr, kPrompt, settings), UsageError);
  model.params().values()[0] = std::nan("");
  EXPECT_THROW(search_beams<double>(model, nullptr, std::vector<Index>{0}, wide(2, 3)), DataError);
}

}  // namespace
}  // namespace attn
