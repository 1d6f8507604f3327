#include "train/induction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "ops/cross_entropy.h"

namespace attn {
namespace {

TEST(Induction, RepeatsAPrefixOfDistinctTokens) {
  const Induction data({});
  const Batch batch = data.training_batch(0, 200);
  std::set<Index> lengths;
  for (Index row = 0; row < batch.batch; ++row) {
    const Index* ids = batch.ids.data() + row * batch.seq_len;
    Index prefix = 1;
    while (ids[prefix] != ids[0]) ++prefix;
    lengths.insert(prefix);
    EXPECT_EQ(static_cast<Index>(std::set<Index>(ids, ids + prefix).size()), prefix);
    for (Index i = 0; i < batch.seq_len; ++i) {
      const auto at = static_cast<std::size_t>(row * batch.seq_len + i);
      ASSERT_EQ(ids[i], ids[i % prefix]);
      ASSERT_EQ(batch.targets[at], i + 1 < batch.seq_len ? ids[i + 1] : kIgnoreIndex);
      ASSERT_EQ(batch.judged[at], i >= prefix ? 1 : 0)
          << "the repeat's first token stands at " << prefix << ", its target is the second";
    }
  }
  EXPECT_EQ(*lengths.begin(), 6);
  EXPECT_EQ(*lengths.rbegin(), 14);
}

// Prefixes of 2 of 3 tokens: the second is one of 2 (ln 2), then the end is certain.
TEST(Induction, FloorByHand) {
  Induction::Settings settings;
  settings.seq_len = 5;
  settings.shortest = 2;
  settings.longest = 2;
  settings.tokens = 3;
  EXPECT_NEAR(Induction(settings).expected_floor(), std::log(2.0) / 4, 1e-12);
  EXPECT_NEAR(Induction(settings).loss_floor().value(), std::log(2.0) / 4, 1e-12);
  // Of 2 or 3: after two tokens each half the time the end (ln 2) or the third, the only one left
  // (ln 2); after three the end is certain.
  settings.longest = 3;
  EXPECT_NEAR(Induction(settings).expected_floor(), 2 * std::log(2.0) / 4, 1e-12);
}

TEST(Induction, TheSamplesFloorIsNearItsExpectation) {
  const Induction data({});
  // A sequence costs some 26 nats, 5 more or less: the mean of 512 is within 0.7, of 31 targets.
  EXPECT_NEAR(data.loss_floor().value(), data.expected_floor(), 0.7 / 31);
}

TEST(Induction, RefusesWhatCannotRepeat) {
  Induction::Settings settings;
  settings.seq_len = 15;
  EXPECT_THROW(Induction{settings}, UsageError);
  settings = {};
  settings.tokens = 13;
  EXPECT_THROW(Induction{settings}, UsageError);
}

}  // namespace
}  // namespace attn
