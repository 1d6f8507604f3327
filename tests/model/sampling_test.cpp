#include "model/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/error.h"

namespace attn {
namespace {

SamplingSettings drawing(double temperature, std::uint64_t seed, std::uint32_t prompt) {
  SamplingSettings settings;
  settings.temperature = temperature;
  settings.seed = seed;
  settings.prompt = prompt;
  return settings;
}

TEST(ChooseToken, GreedyTakesTheLowestIdOfEquals) {
  const std::vector<float> logits = {1, 3, 2, 3};
  EXPECT_EQ(choose_token<float>(logits, {}, {}, 0), 1);
}

TEST(ChooseToken, RefusesATemperatureThatIsNone) {
  const std::vector<float> logits = {1, 2};
  for (const double temperature :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(choose_token<float>(logits, {}, drawing(temperature, 0, 0), 0), UsageError)
        << temperature;
  }
}

// 4000 positions: a share p of them is off by 3 * sqrt(p (1 - p) / 4000) < 0.024 in one of 400
// runs; the seed is fixed.
TEST(ChooseToken, DrawsInTheSharesOfTheSoftmax) {
  const std::vector<double> logits = {0.0, std::log(3.0), -std::numeric_limits<double>::infinity(),
                                      std::log(6.0)};
  std::vector<double> share(4, 0.0);
  for (Index position = 0; position < 4000; ++position) {
    const Index token = choose_token<double>(logits, {}, drawing(1.0, 5, 0), position);
    share[static_cast<std::size_t>(token)] += 1.0 / 4000;
  }
  EXPECT_NEAR(share[0], 0.1, 0.024);
  EXPECT_NEAR(share[1], 0.3, 0.024);
  EXPECT_EQ(share[2], 0);
  EXPECT_NEAR(share[3], 0.6, 0.024);
}

TEST(ChooseToken, ALowTemperatureIsGreedyAndNeverOverflows) {
  const std::vector<float> logits = {-300, 300, 299};
  EXPECT_EQ(choose_token<float>(logits, {}, drawing(1e-6, 1, 0), 0), 1);
  const std::vector<float> far = {-3e38F, 3e38F};
  EXPECT_EQ(choose_token<float>(far, {}, drawing(0.5, 1, 0), 0), 1);
}

TEST(ChooseToken, SamplesAndPositionsAreIndependentStreams) {
  const std::vector<float> logits(1000, 0.0F);
  const Index a = choose_token<float>(logits, {}, drawing(1.0, 1, 0), 7);
  EXPECT_EQ(choose_token<float>(logits, {}, drawing(1.0, 1, 0), 7), a) << "the same draw again";
  EXPECT_NE(choose_token<float>(logits, {}, drawing(1.0, 1, 1), 7), a);
  EXPECT_NE(choose_token<float>(logits, {}, drawing(1.0, 1, 0), 8), a);
  EXPECT_NE(choose_token<float>(logits, {}, drawing(1.0, 2, 0), 7), a);
}

// ln of 8, 4, 2, 1, 1: shares of sixteenths, and a tie of the last two.
std::vector<double> sixteenths() {
  return {std::log(2.0), std::log(8.0), 0.0, std::log(4.0), 0.0};
}

SamplingSettings warm() {
  SamplingSettings settings;
  settings.temperature = 1;
  return settings;
}

// Probabilities by id.
std::vector<double> probabilities(const std::vector<double>& logits,
                                  const SamplingSettings& settings,
                                  const std::vector<Index>& seen = {}) {
  NextToken next(std::span<const double>(logits), seen, settings);
  std::vector<double> by_id(logits.size());
  for (const Candidate& one : next.best(next.vocab_size())) {
    by_id[static_cast<std::size_t>(one.id)] = one.probability;
  }
  return by_id;
}

void expect_shares(const std::vector<double>& found, const std::vector<double>& wanted) {
  double total = 0;
  for (const double share : wanted) total += share;
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i] / total, 1e-15) << "token " << i;
    EXPECT_EQ(found[i] == 0, wanted[i] == 0) << "token " << i;
  }
}

TEST(NextToken, TopKKeepsExactlyKAndTheLowerIdOfEquals) {
  SamplingSettings settings = warm();
  for (const auto& [k, wanted] :
       std::vector<std::pair<Index, std::vector<double>>>{{0, {2, 8, 1, 4, 1}},
                                                          {1, {0, 8, 0, 0, 0}},
                                                          {3, {2, 8, 0, 4, 0}},
                                                          {4, {2, 8, 1, 4, 0}},
                                                          {5, {2, 8, 1, 4, 1}},
                                                          {Index{1} << 40, {2, 8, 1, 4, 1}}}) {
    settings.top_k = k;
    expect_shares(probabilities(sixteenths(), settings), wanted);
  }
}

TEST(NextToken, TopPKeepsTheTokenThatCrossesPAndAlwaysOne) {
  SamplingSettings settings = warm();
  // Before the ranking's tokens lie 0, 8, 12, 14, 15 sixteenths. At exactly p a token is dropped.
  for (const auto& [p, wanted] :
       std::vector<std::pair<double, std::vector<double>>>{{1, {2, 8, 1, 4, 1}},
                                                           {0.94, {2, 8, 1, 4, 1}},
                                                           {0.9, {2, 8, 1, 4, 0}},
                                                           {0.87, {2, 8, 0, 4, 0}},
                                                           {0.51, {0, 8, 0, 4, 0}},
                                                           {0.49, {0, 8, 0, 0, 0}},
                                                           {1e-300, {0, 8, 0, 0, 0}}}) {
    settings.top_p = p;
    expect_shares(probabilities(sixteenths(), settings), wanted);
  }
  // Halves are exact: the mass before the second is p, which is not below p.
  settings.top_p = 0.5;
  expect_shares(probabilities({0, 0}, settings), {1, 0});
}

TEST(NextToken, MinPIsAShareOfTheBest) {
  SamplingSettings settings = warm();
  for (const auto& [p, wanted] :
       std::vector<std::pair<double, std::vector<double>>>{{0, {2, 8, 1, 4, 1}},
                                                           {0.12, {2, 8, 1, 4, 1}},
                                                           {0.13, {2, 8, 0, 4, 0}},
                                                           {0.26, {0, 8, 0, 4, 0}},
                                                           {1, {0, 8, 0, 0, 0}}}) {
    settings.min_p = p;
    expect_shares(probabilities(sixteenths(), settings), wanted);
  }
  expect_shares(probabilities({1, 1, 0}, settings), {1, 1, 0});
}

// Top-p counts the mass of what top-k left: 8/12 before the second, not 8/16.
TEST(NextToken, FiltersActInTheirOrder) {
  SamplingSettings settings = warm();
  settings.top_k = 2;
  settings.top_p = 0.6;
  expect_shares(probabilities(sixteenths(), settings), {0, 8, 0, 0, 0});
  settings.top_k = 0;
  expect_shares(probabilities(sixteenths(), settings), {0, 8, 0, 4, 0});
  settings.temperature = 0.5;  // shares 64, 16, 4, 1, 1 of 86
  settings.min_p = 0.06;
  settings.top_p = 1;
  expect_shares(probabilities(sixteenths(), settings), {4, 64, 0, 16, 0});
}

TEST(NextToken, ThePenaltyMakesWhatWasSeenLessLikelyWhateverItsSignAndOnce) {
  SamplingSettings settings = warm();
  settings.repetition_penalty = 2;
  const std::vector<double> logits = {2, -1, 0, 1};
  const std::vector<Index> seen = {1, 0, 0, 1, 0};
  NextToken next(std::span<const double>(logits), seen, settings);
  const std::vector<Candidate> all = next.best(4);
  std::vector<double> penalised(4);
  for (const Candidate& one : all) penalised[static_cast<std::size_t>(one.id)] = one.penalised;
  EXPECT_EQ(penalised, (std::vector<double>{1, -2, 0, 1}));
  EXPECT_EQ(all[0].id, 0) << "a tie with token 3";
  EXPECT_EQ(all[0].logit, 2);
  settings.repeat_last = 1;
  EXPECT_EQ(NextToken(std::span<const double>(logits), seen, settings).best(4)[1].id, 3);
  settings.repeat_last = 0;
  EXPECT_EQ(NextToken(std::span<const double>(logits), seen, settings).best(1)[0].penalised, 2);
  settings = {};
  settings.repetition_penalty = 3;  // greedy too
  EXPECT_EQ(choose_token<double>(logits, seen, settings, 0), 3);
}

TEST(NextToken, TellsWhyACandidateIsDropped) {
  SamplingSettings settings = warm();
  settings.temperature = 2;
  settings.top_k = 4;
  settings.top_p = 0.9;
  settings.min_p = 0.6;
  const std::vector<double> logits = {2 * std::log(2.0), 2 * std::log(8.0), 0.0, 2 * std::log(4.0),
                                      0.0};
  NextToken next(std::span<const double>(logits), {}, settings);
  const std::vector<Candidate> all = next.best(99);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(next.kept(), 1);
  EXPECT_NEAR(all[1].scaled, std::log(4.0), 1e-15);
  // Of 15 shares 0, 8, 12, 14 lie before those that top-k keeps.
  EXPECT_NEAR(all[2].mass_before, 12.0 / 15, 1e-15);
  EXPECT_NEAR(all[3].mass_before, 14.0 / 15, 1e-15);
  const auto why = [](const Candidate& c) {
    return std::vector<bool>{c.by_top_k, c.by_top_p, c.by_min_p};
  };
  EXPECT_EQ(why(all[0]), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(why(all[1]), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(why(all[3]), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(why(all[4]), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(next.rank_of(4), 4);
}

// Of a vocabulary larger than what is sorted at first, and whatever is asked first.
TEST(NextToken, ALargeVocabularyIsRankedAsASmallOne) {
  std::vector<double> logits(5000);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<double>(i * 7919 % 1009) / 100;  // many ties
  }
  std::vector<Index> order(logits.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  SamplingSettings settings = warm();
  settings.top_p = 0.7;
  NextToken next(std::span<const double>(logits), {}, settings);
  const std::vector<Candidate> all = next.best(5000);
  double mass = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(all[i].id, order[i]) << i;
    ASSERT_EQ(all[i].by_top_p, all[i].mass_before < 0.7 || i == 0) << i;
    mass += all[i].probability;
  }
  EXPECT_NEAR(mass, 1, 1e-12);
}

TEST(NextToken, DrawsInOrderOfIdAmongWhatIsKept) {
  SamplingSettings settings = warm();
  settings.top_k = 3;  // ids 0, 1, 3 with 2, 8, 4 of 14
  NextToken next(std::span<const double>(sixteenths()), {}, settings);
  EXPECT_EQ(next.at(0), 0);
  EXPECT_EQ(next.at(1.9 / 14), 0);
  EXPECT_EQ(next.at(2.1 / 14), 1);
  EXPECT_EQ(next.at(9.9 / 14), 1);
  EXPECT_EQ(next.at(10.1 / 14), 3);
  EXPECT_EQ(next.at(std::nextafter(1.0, 0.0)), 3);
  EXPECT_NEAR(next.margin(2.1 / 14), 0.1 / 14, 1e-15);
  // Tokens 0 and 2 are further apart: ln 2 of their logits.
  EXPECT_NEAR(next.margin(0.5), std::min(3.0 / 14, std::log(2.0)), 1e-15);
  settings.top_k = 4;
  EXPECT_EQ(NextToken(std::span<const double>(sixteenths()), {}, settings).margin(0.5), 0)
      << "the tie of tokens 2 and 4 was decided by their ids";
}

TEST(NextToken, RefusesWhatIsNoSetting) {
  const std::vector<double> logits = {1, 2};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](auto SamplingSettings::*field, auto value) {
    SamplingSettings settings = warm();
    settings.*field = value;
    EXPECT_THROW(NextToken(std::span<const double>(logits), {}, settings), UsageError) << value;
  };
  for (const double p : {0.0, -0.1, 1.1, nan}) refused(&SamplingSettings::top_p, p);
  for (const double p : {-0.1, 1.1, nan}) refused(&SamplingSettings::min_p, p);
  for (const double p : {0.0, -1.0, nan, HUGE_VAL}) {
    refused(&SamplingSettings::repetition_penalty, p);
  }
  refused(&SamplingSettings::top_k, Index{-1});
}

TEST(NextToken, RefusesLogitsThatAreNoNumbersButForAMask) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto choose = [](std::vector<double> logits, double temperature) {
    return choose_token<double>(logits, {}, drawing(temperature, 1, 0), 0);
  };
  for (const double temperature : {0.0, 1.0}) {
    EXPECT_THROW(choose({1, std::nan(""), 2}, temperature), DataError);
    EXPECT_THROW(choose({1, infinity, 2}, temperature), DataError);
    EXPECT_THROW(choose({-infinity, -infinity}, temperature), DataError);
    EXPECT_EQ(choose({-infinity, 1, -infinity}, temperature), 1);
  }
}

TEST(NextToken, RefusesAPenaltyThatLeavesNoFiniteLogit) {
  const std::vector<Index> seen = {0, 1};
  const auto expect_refusal = [&](std::vector<double> logits, double penalty) {
    SamplingSettings settings = warm();
    settings.repetition_penalty = penalty;
    EXPECT_THROW(NextToken(std::span<const double>(logits), seen, settings), DataError);
  };
  expect_refusal({1e300, 0}, 1e-10);
  expect_refusal({-1e300, -1e300}, 1e10);
}

}  // namespace
}  // namespace attn
