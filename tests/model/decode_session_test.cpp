#include "model/decode_session.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "model/configurations.h"
#include "model/decoding.h"

// However a sequence is fed - with a cache or without, in chunks, forked, beside others - its
// logits are the same, over the whole table of configurations.

namespace attn {
namespace {

constexpr Index kSteps = 7;
constexpr Index kPromptLength = 5;

// Bits differ because a product of one row is summed in another order than one of many: the bound
// that model/decoding.h states.
constexpr double kBound = 1e-5;

struct Problem {
  Transformer<float> model;
  std::vector<Index> prompt, next, source;
  std::vector<std::uint8_t> mask = {1, 1, 1, 0};

  explicit Problem(const ModelConfig& config)
      : model(config),
        prompt(testing::some_ids(kPromptLength, config.vocab_size, 21)),
        next(testing::some_ids(kSteps, config.vocab_size, 22)) {
    testing::scramble(model.params(), 2);
    if (cross()) source = testing::some_ids(4, config.source_vocab_size, 3);
  }
  bool cross() const { return model.config().arch == Arch::kEncoderDecoder; }
  DecodeSession<float> begin(const SessionSettings& settings) const {
    return cross() ? DecodeSession<float>(model, SourceTokens{source, mask}, settings)
                   : DecodeSession<float>(model, settings);
  }
};

SessionSettings settings_of(bool use_cache, Index chunk, Index window = 0) {
  SessionSettings settings;
  settings.capacity = kPromptLength + kSteps;
  settings.use_cache = use_cache;
  settings.prefill_chunk = chunk;
  settings.window = window;
  return settings;
}

// The logits after the prompt and after each token fed after it.
std::vector<std::vector<float>> all_logits(const Problem& p, const SessionSettings& settings) {
  auto session = p.begin(settings);
  std::vector<std::vector<float>> all;
  const auto keep = [&](std::span<const float> logits) {
    all.emplace_back(logits.begin(), logits.end());
  };
  keep(session.feed(p.prompt));
  for (const Index token : p.next) keep(session.feed(std::vector<Index>{token}));
  return all;
}

double largest(std::span<const float> values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

void expect_near(std::span<const float> found, std::span<const float> wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(found[i], wanted[i], kBound * largest(wanted)) << "token " << i;
  }
}

void expect_near(const std::vector<std::vector<float>>& found,
                 const std::vector<std::vector<float>>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(std::span<const float>(found[i]), std::span<const float>(wanted[i]));
  }
}

TEST(DecodeSession, LogitsAreTheSameWithACacheInPagesWithoutAndInChunksOfAnySize) {
  for (const auto& configuration : testing::configurations()) {
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    const auto wanted = all_logits(p, settings_of(false, 0));
    for (Index chunk = 0; chunk <= kPromptLength + 1; ++chunk) {
      for (const Index page_size : {0, 1, 3}) {
        SCOPED_TRACE(fmt::format("chunks of {}, pages of {}", chunk, page_size));
        SessionSettings settings = settings_of(true, chunk);
        settings.layout.page_size = page_size;
        expect_near(all_logits(p, settings), wanted);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Defined by feeding its last tokens to a session that knows nothing before them.
TEST(DecodeSession, AWindowIsItsLastTokensFedAnew) {
  for (const auto& configuration : testing::configurations()) {
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    std::vector<Index> ids = p.prompt;
    ids.insert(ids.end(), p.next.begin(), p.next.end());
    for (const Index window : {1, 3, 5, 8, 100}) {
      SCOPED_TRACE(window);
      std::vector<std::vector<float>> wanted;
      for (Index length = kPromptLength; length <= kPromptLength + kSteps; ++length) {
        const Index seen = std::min(window, length);
        auto anew = p.begin(settings_of(false, 0));
        const auto logits = anew.feed(std::span(ids).subspan(
            static_cast<std::size_t>(length - seen), static_cast<std::size_t>(seen)));
        wanted.emplace_back(logits.begin(), logits.end());
      }
      expect_near(all_logits(p, settings_of(true, 0, window)), wanted);
      expect_near(all_logits(p, settings_of(true, 2, window)), wanted);
      expect_near(all_logits(p, settings_of(false, 0, window)), wanted);
      if (HasFatalFailure()) return;
    }
  }
}

// A prompt, three ways on from it, then two of those and one twice.
TEST(DecodeSession, ForkedSequencesGoOnAsEachAlone) {
  for (const auto& configuration : testing::configurations()) {
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    for (const bool use_cache : {true, false}) {
      for (const Index window : {0, 4}) {
        SCOPED_TRACE(fmt::format("cache {}, window {}", use_cache, window));
        SessionSettings settings = settings_of(use_cache, 0, window);
        settings.layout.page_size = window / 2;  // one run of rows, or two to a page
        auto session = p.begin(settings);
        session.feed(p.prompt);
        session.fork(std::vector<Index>{0, 0, 0});
        session.feed_each(std::vector<Index>{1, 3, 0});
        session.fork(std::vector<Index>{2, 0, 2, 2});
        const Matrix<const float> found = session.feed_each(std::vector<Index>{4, 4, 2, 4});
        ASSERT_EQ(found.rows(), 4);
        const std::vector<std::vector<Index>> ends = {{0, 4}, {1, 4}, {0, 2}, {0, 4}};
        for (std::size_t i = 0; i < ends.size(); ++i) {
          auto alone = p.begin(settings);
          alone.feed(p.prompt);
          alone.feed(std::vector<Index>{ends[i][0]});
          const auto wanted = alone.feed(std::vector<Index>{ends[i][1]});
          const auto row = static_cast<Index>(i);
          expect_near(std::span<const float>(found.row(row), wanted.size()), wanted);
          EXPECT_TRUE(std::equal(session.ids(row).begin(), session.ids(row).end(),
                                 alone.ids(0).begin(), alone.ids(0).end()));
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(DecodeSession, ForksShareWhatWasReadBefore) {
  const Problem p(testing::configurations().front().model);
  auto session = p.begin(settings_of(true, 0));
  session.feed(p.prompt);
  session.fork(std::vector<Index>{0, 0, 0});
  EXPECT_EQ(session.counts().each(), kPromptLength);
  session.feed_each(std::vector<Index>{1, 2, 3});
  EXPECT_EQ(session.counts().each(), kPromptLength + 3);
  EXPECT_EQ(session.length(), kPromptLength + 1);
  EXPECT_EQ(session.cache()->batch(), 3);
}

TEST(DecodeSession, RefusesWhatDoesNotFit) {
  const Problem p(testing::configurations().front().model);
  auto session = p.begin(settings_of(true, 0));
  EXPECT_THROW(session.feed({}), ShapeError);
  EXPECT_THROW(session.feed(testing::some_ids(100, 5, 1)), ShapeError);
  session.feed(p.prompt);
  EXPECT_THROW(session.fork({}), ShapeError);
  EXPECT_THROW(session.fork(std::vector<Index>{1}), ShapeError);
  session.fork(std::vector<Index>{0, 0});
  EXPECT_THROW(session.feed_each(std::vector<Index>{1, 2, 3}), ShapeError);
  EXPECT_THROW(session.feed(std::vector<Index>{1, 2}), ShapeError) << "two sequences";
}

// Wide enough that threads share a token's products, on workers that stay awake for all of a pass;
// 5: more than cores, on most machines.
TEST(DecodeSession, ThreadsChangeNoBit) {
  ModelConfig config;
  config.vocab_size = 11;
  config.dim = 192;
  config.heads = 4;
  config.depth = 2;
  const Problem problem(config);
  SessionSettings settings = settings_of(true, 0);
  const auto expected = all_logits(problem, settings);
  for (const int threads : {2, 3, 5}) {
    settings.threads = threads;
    EXPECT_EQ(all_logits(problem, settings), expected) << threads;
  }
}

// Greedy and drawn texts, wherever no choice was closer than the rounding.
TEST(Decoding, TextIsTheSameHoweverItIsComputed) {
  int compared = 0;
  int all = 0;
  for (const auto& configuration : testing::configurations()) {
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    const SourceTokens source{p.source, p.mask};
    for (const double temperature : {0.0, 1.0}) {
      GenerationSettings settings;
      settings.new_tokens = kSteps;
      settings.samples = 3;
      settings.sampling.temperature = temperature;
      settings.sampling.top_k = 4;
      settings.sampling.top_p = 0.9;
      settings.sampling.repetition_penalty = 1.3;
      settings.use_cache = false;
      const auto make = [&] {
        return generate_samples<float>(p.model, p.cross() ? &source : nullptr, p.prompt, settings);
      };
      const std::vector<Generation> wanted = make();
      for (const Index chunk : {0, 2}) {
        settings.use_cache = true;
        settings.prefill_chunk = chunk;
        settings.threads = 1 + static_cast<int>(chunk);
        const std::vector<Generation> found = make();
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          ++all;
          // Logits here stay below 20, and the penalty takes rounding no further.
          if (wanted[i].smallest_lead <= 2 * 20 * kBound) continue;
          ++compared;
          EXPECT_EQ(found[i].tokens, wanted[i].tokens) << "sample " << i;
        }
      }
    }
  }
  EXPECT_GT(compared, all * 9 / 10) << "hardly any choice is that close";
}

// The i-th of many samples is the only one of its own number.
TEST(Decoding, SamplesAreThoseThatAreDrawnAlone) {
  const Problem p(testing::configurations().front().model);
  GenerationSettings settings;
  settings.new_tokens = kSteps;
  settings.sampling.temperature = 2;
  settings.eos = 2;
  settings.samples = 6;
  const auto together = generate_samples<float>(p.model, nullptr, p.prompt, settings);
  Index rows = kPromptLength;
  settings.samples = 1;
  for (const Generation& one : together) {
    const Generation alone = generate<float>(p.model, p.prompt, settings);
    EXPECT_EQ(one.tokens, alone.tokens);
    EXPECT_EQ(one.finish, alone.finish);
    rows += static_cast<Index>(one.tokens.size()) - 1;
    ++settings.sampling.sample;
  }
  EXPECT_EQ(together.front().counts.each(), rows) << "the prompt was read once";
}

// Of the prompt's 5 rows two pages of 2 are full and shared. The fifth lies in a page that each
// sample copies before it writes: rows 5 to 11 are four pages of its own.
TEST(Decoding, SamplesShareThePagesOfThePrompt) {
  const Problem p(testing::configurations().front().model);
  GenerationSettings settings;
  settings.new_tokens = kSteps;
  settings.sampling.temperature = 2;
  settings.samples = 6;
  settings.layout.page_size = 2;
  const auto together = generate_samples<float>(p.model, nullptr, p.prompt, settings);
  const Index row_bytes = p.model.make_cache(1, 1).row_bytes();
  EXPECT_EQ(together.front().cache_bytes, (2 + 6 * 4) * 2 * row_bytes);
}

TEST(Decoding, EndsAtStopTokensAndWhereItIsTold) {
  const Problem p(testing::configurations().front().model);
  GenerationSettings settings;
  settings.new_tokens = kSteps;
  const Generation free = generate<float>(p.model, p.prompt, settings);
  settings.stop_ids = {free.tokens[0], 1};
  const Generation stopped = generate<float>(p.model, p.prompt, settings);
  EXPECT_EQ(stopped.tokens, (std::vector<Index>{free.tokens[0]}));
  EXPECT_EQ(stopped.finish, Finish::kStopToken);
  settings.stop_ids = {};
  int heard = 0;
  settings.on_token = [&](Index, Index) { return ++heard < 3; };
  const Generation told = generate<float>(p.model, p.prompt, settings);
  EXPECT_EQ(told.tokens.size(), 3U);
  EXPECT_EQ(told.finish, Finish::kStopped);
  EXPECT_TRUE(std::equal(told.tokens.begin(), told.tokens.end(), free.tokens.begin()));
}

TEST(Decoding, TellsTheLikeliestTokensBesideEachChosenOne) {
  const Problem p(testing::configurations().front().model);
  GenerationSettings settings;
  settings.new_tokens = 3;
  settings.alternatives = 2;
  const Generation found = generate<float>(p.model, p.prompt, settings);
  ASSERT_EQ(found.alternatives.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(found.alternatives[i].size(), 2U);
    EXPECT_EQ(found.alternatives[i][0].token, found.tokens[i]) << "greedy";
    EXPECT_EQ(found.alternatives[i][0].log_prob, found.log_probs[i]);
    EXPECT_LT(found.alternatives[i][1].log_prob, found.log_probs[i]);
  }
}

TEST(Decoding, LogitsThatAreNoNumbersAreRefused) {
  Problem p(testing::configurations().front().model);
  p.model.params().values()[0] = std::nanf("");
  GenerationSettings settings;
  settings.new_tokens = 2;
  for (const double temperature : {0.0, 1.0}) {
    settings.sampling.temperature = temperature;
    EXPECT_THROW(generate<float>(p.model, std::vector<Index>{0}, settings), DataError);
  }
}

}  // namespace
}  // namespace attn
