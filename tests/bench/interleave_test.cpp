#include "bench/interleave.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace attn {
namespace {

TEST(Interleave, EachRoundRunsEachVariantOnce) {
  for (Index round = 0; round < 20; ++round) {
    EXPECT_THAT(round_order(4, 7, round), testing::UnorderedElementsAre(0, 1, 2, 3));
  }
}

TEST(Interleave, RoundsDifferAndSeedsRepeat) {
  std::set<std::vector<Index>> orders;
  for (Index round = 0; round < 50; ++round) {
    orders.insert(round_order(3, 0, round));
    EXPECT_EQ(round_order(3, 0, round), round_order(3, 0, round));
  }
  EXPECT_EQ(orders.size(), 6U) << "50 rounds should see all 3! orders";
  EXPECT_NE(round_order(20, 0, 0), round_order(20, 1, 0));
}

TEST(Interleave, NothingAndOne) {
  EXPECT_TRUE(round_order(0, 0, 0).empty());
  EXPECT_THAT(round_order(1, 0, 0), testing::ElementsAre(0));
}

TEST(Interleave, WarmsUpAllBeforeAnythingCounts) {
  std::vector<std::pair<Index, bool>> calls;
  run_interleaved(2, {.warmup = 2, .repeats = 3, .seed = 5},
                  [&](Index variant, bool timed) { calls.emplace_back(variant, timed); });
  ASSERT_EQ(calls.size(), 2U * 5U);
  Index timed_calls[2] = {0, 0};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].second, i >= 4) << "call " << i;
    if (calls[i].second) ++timed_calls[calls[i].first];
  }
  EXPECT_EQ(timed_calls[0], 3);
  EXPECT_EQ(timed_calls[1], 3);
}

TEST(Interleave, LongRoundsAreFewer) {
  const Interleaving wanted{.warmup = 3, .repeats = 7, .seed = 9};
  const auto rounds = [&](double seconds) {
    const Interleaving how = within_budget(wanted, seconds, 20);
    EXPECT_EQ(how.seed, 9U);
    return std::pair(how.warmup, how.repeats);
  };
  EXPECT_EQ(rounds(0), std::pair(Index{3}, Index{7}));
  EXPECT_EQ(rounds(2), std::pair(Index{3}, Index{7}));
  EXPECT_EQ(rounds(2.5), std::pair(Index{1}, Index{7}));
  EXPECT_EQ(rounds(3.5), std::pair(Index{1}, Index{4}));
  EXPECT_EQ(rounds(1e6), std::pair(Index{1}, Index{3}));
}

}  // namespace
}  // namespace attn
