#include "bench/serving_load.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

TEST(ServingLoad, ALengthIsWhatTheCacheHoldsAtTheEnd) {
  const ServingLoad load = serving_load({5, 4, 1}, {});
  ASSERT_EQ(load.count(), 3);
  // Half of it prompt; the last new token is never fed back: 3 + 3 - 1 = 5.
  EXPECT_EQ(load.requests[0].prompt, 3);
  EXPECT_EQ(load.requests[0].new_tokens, 3);
  EXPECT_EQ(load.requests[1].prompt, 2);
  EXPECT_EQ(load.requests[2].prompt, 1);
  EXPECT_EQ(load.requests[2].new_tokens, 1);
  EXPECT_EQ(load.rows(), 10);
  EXPECT_EQ(load.new_tokens(), 7);
  EXPECT_EQ(load.longest, 5);
}

TEST(ServingLoad, PromptOrNewTokensMayBeGiven) {
  ServingLoadSettings prompt;
  prompt.prompt = 3;
  EXPECT_EQ(serving_load({5}, prompt).requests[0].new_tokens, 3);
  EXPECT_EQ(serving_load({2}, prompt).requests[0].prompt, 2) << "a shorter one is all prompt";
  ServingLoadSettings fresh;
  fresh.new_tokens = 2;
  EXPECT_EQ(serving_load({5}, fresh).requests[0].prompt, 4);
  EXPECT_EQ(serving_load({1}, fresh).requests[0].prompt, 1);
}

TEST(ServingLoad, PromptsReachBeyondTheSharedPrefix) {
  ServingLoadSettings settings;
  settings.shared_prefix = 6;
  const ServingLoad load = serving_load({8, 20}, settings);
  EXPECT_EQ(load.requests[0].prompt, 7);
  EXPECT_EQ(load.requests[1].prompt, 10);
  const auto ids = serving_ids(load, 1000, 1);
  EXPECT_TRUE(std::equal(ids[0].begin(), ids[0].begin() + 6, ids[1].begin()));
  EXPECT_NE(ids[0][6] * 1000 + ids[0][7], ids[1][6] * 1000 + ids[1][7]);
  EXPECT_THROW(serving_load({6}, settings), UsageError);
}

TEST(ServingLoad, ArrivalsAreInOrderAndAsFarApartAsAsked) {
  ServingLoadSettings settings;
  settings.arrival_gap = 10;
  const ServingLoad load = serving_load(std::vector<Index>(2000, 1), settings);
  EXPECT_EQ(load.requests[0].arrival, 0);
  for (std::size_t i = 1; i < load.requests.size(); ++i)
    EXPECT_LE(load.requests[i - 1].arrival, load.requests[i].arrival);
  // The mean of 2000 exponential gaps spreads by 10 / sqrt(2000) = 0.22: four of those.
  EXPECT_NEAR(static_cast<double>(load.requests.back().arrival) / 1999, 10, 0.9);
}

TEST(ServingLoad, RefusesWhatIsNoLoad) {
  EXPECT_THROW(serving_load({}, {}), UsageError);
  EXPECT_THROW(serving_load({3, 0}, {}), UsageError);
  ServingLoadSettings settings;
  settings.longest = 4;
  EXPECT_THROW(serving_load({3, 5}, settings), UsageError);
  EXPECT_EQ(serving_load({3}, settings).longest, 4);
  const Index half = Index{1} << 62;
  EXPECT_THROW(serving_load({half, half}, {}), UsageError);
}

}  // namespace
}  // namespace attn
