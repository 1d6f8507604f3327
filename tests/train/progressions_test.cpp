#include "train/progressions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "ops/cross_entropy.h"

namespace attn {
namespace {

Index at(const std::vector<Index>& values, Index i) {
  return values[static_cast<std::size_t>(i)];
}

void expect_progressions(const Batch& batch) {
  for (Index row = 0; row < batch.batch; ++row) {
    const Index first = row * batch.seq_len;
    const Index step = (at(batch.ids, first + 1) - at(batch.ids, first) + 10) % 10;
    ASSERT_NE(step, 0) << "steps are 1 to 9";
    for (Index i = 0; i < batch.seq_len; ++i) {
      ASSERT_EQ(at(batch.ids, first + i), (at(batch.ids, first) + i * step) % 10);
      ASSERT_EQ(at(batch.targets, first + i),
                i + 1 < batch.seq_len ? at(batch.ids, first + i + 1) : kIgnoreIndex);
    }
  }
}

TEST(Progressions, EvaluationHoldsEachOfTheNinetyOnce) {
  const Progressions data(0);
  const Batch& batch = data.evaluation_batch();
  ASSERT_EQ(batch.batch, 90);
  ASSERT_EQ(batch.seq_len, 12);
  expect_progressions(batch);
  std::set<std::pair<Index, Index>> starts;
  for (Index row = 0; row < 90; ++row) {
    starts.insert({at(batch.ids, row * 12), at(batch.ids, row * 12 + 1)});
  }
  EXPECT_EQ(starts.size(), 90U);
  EXPECT_EQ(batch.judged[0], 0) << "the second token cannot be known";
  EXPECT_EQ(batch.judged[1], 1) << "the third token is the second column's target";
}

TEST(Progressions, BatchesDependOnSeedAndStepAlone) {
  const Progressions data(1);
  const Batch batch = data.training_batch(3, 64);
  ASSERT_EQ(batch.batch, 64);
  expect_progressions(batch);
  EXPECT_EQ(data.training_batch(3, 64).ids, batch.ids);
  EXPECT_NE(data.training_batch(4, 64).ids, batch.ids);
  EXPECT_NE(Progressions(2).training_batch(3, 64).ids, batch.ids);
  // A larger batch begins with the smaller one's sequences.
  const Batch larger = data.training_batch(3, 80);
  EXPECT_TRUE(std::equal(batch.ids.begin(), batch.ids.end(), larger.ids.begin()));
}

TEST(Progressions, FloorIsLnNineOverEleven) {
  EXPECT_NEAR(Progressions(0).loss_floor().value(), 0.19975, 5e-6);
}

TEST(Progressions, RefusesWhatIsNone) {
  EXPECT_THROW(Progressions(0, 2), UsageError);
  EXPECT_THROW(Progressions(0, 12, 1), UsageError);
}

}  // namespace
}  // namespace attn
