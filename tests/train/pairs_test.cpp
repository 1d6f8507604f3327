#include "train/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "ops/cross_entropy.h"
#include "train/mapped_pairs.h"

namespace attn {
namespace {

constexpr Index kNone = kIgnoreIndex;
using Ids = std::vector<Index>;
using Bits = std::vector<std::uint8_t>;

const std::vector<Pair> kTwo = {{{5, 6, 7}, {7, 6}}, {{8}, {9}}};

TEST(Pairs, TwoStacksReadTheSourceAndSayTheTarget) {
  PairLayout layout;
  layout.vocab_size = 10;
  const Batch batch = arrange_pairs(kTwo, layout);
  EXPECT_EQ(batch.batch, 2);
  EXPECT_EQ(batch.source, (Ids{5, 6, 7, 8, 1, 1}));
  EXPECT_EQ(batch.source_mask, (Bits{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(batch.ids, (Ids{0, 7, 6, 0, 9, 1}));
  EXPECT_EQ(batch.targets, (Ids{7, 6, 1, 9, 1, kNone}));
  EXPECT_EQ(batch.key_mask, (Bits{1, 1, 1, 1, 1, 0}));
}

TEST(Pairs, OneStackTakesItsLossAfterTheSeparator) {
  PairLayout layout;
  layout.arch = Arch::kDecoder;
  layout.vocab_size = 10;
  layout.separator = 2;
  const Batch batch = arrange_pairs(kTwo, layout);
  EXPECT_TRUE(batch.source.empty());
  EXPECT_EQ(batch.ids, (Ids{5, 6, 7, 2, 7, 6, 8, 2, 9, 1, 1, 1}));
  EXPECT_EQ(batch.targets, (Ids{kNone, kNone, kNone, 7, 6, 1, kNone, 9, 1, kNone, kNone, kNone}));
  EXPECT_EQ(batch.key_mask, (Bits{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}));
}

TEST(Pairs, EquallyLongOnesNeedNoMask) {
  const std::vector<Pair> equal = {{{5, 6}, {7}}, {{6, 5}, {8}}};
  const Batch batch = arrange_pairs(equal, {});
  EXPECT_TRUE(batch.key_mask.empty());
  EXPECT_TRUE(batch.source_mask.empty());
}

TEST(MappedPairs, SortHoldsAQuarterOfAllStringsOut) {
  MappedPairs::Settings settings{Mapping::kSort, 3, 6, 6, 0};
  const MappedPairs maker(settings);
  EXPECT_EQ(maker.all(), 729);
  const std::vector<Pair> all = maker.evaluation_pairs();
  std::set<Ids> sources;
  Index held_out = 0;
  for (const Pair& pair : all) {
    sources.insert(pair.source);
    held_out += maker.held_out(pair.source) ? 1 : 0;
    Ids sorted = pair.source;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(pair.target, sorted);
  }
  EXPECT_EQ(sources.size(), 729U);
  EXPECT_NEAR(static_cast<double>(held_out), 729 / 4.0, 35);  // three standard deviations: 3 * 11.7
  Rng rng(0, RandomPurpose::kTrainingData);
  for (int i = 0; i < 3000; ++i) ASSERT_FALSE(maker.held_out(maker.training_pair(rng).source));
}

TEST(MappedPairs, ReversesStringsOfAllLengths) {
  const MappedPairs maker({Mapping::kReverse, 10, 1, 10, 2});
  EXPECT_FALSE(maker.all());
  std::set<std::size_t> lengths;
  for (const Pair& pair : maker.evaluation_pairs()) {
    ASSERT_EQ(pair.target, Ids(pair.source.rbegin(), pair.source.rend()));
    ASSERT_GE(*std::min_element(pair.source.begin(), pair.source.end()), 2);
    ASSERT_LE(*std::max_element(pair.source.begin(), pair.source.end()), 11);
    lengths.insert(pair.source.size());
  }
  EXPECT_EQ(lengths.size(), 10U);
}

TEST(MappedPairs, RefusesWhatIsNone) {
  EXPECT_THROW(MappedPairs({Mapping::kCopy, 1, 1, 5, 0}), UsageError);
  EXPECT_THROW(MappedPairs({Mapping::kCopy, 10, 0, 5, 0}), UsageError);
  EXPECT_THROW(MappedPairs({Mapping::kCopy, 10, 6, 5, 0}), UsageError);
  EXPECT_THROW(MappedPairs({Mapping::kCopy, 10, 1, 0, 0}), UsageError);
}

TEST(PairData, BatchesDependOnSeedAndStepAloneAndEvaluationOnNeither) {
  PairLayout layout;
  layout.vocab_size = 12;
  const auto data = [&](std::uint64_t seed) {
    return PairData(std::make_unique<MappedPairs>(MappedPairs::Settings{}), layout, seed);
  };
  EXPECT_EQ(data(1).training_batch(3, 8).source, data(1).training_batch(3, 8).source);
  EXPECT_NE(data(1).training_batch(3, 8).source, data(1).training_batch(4, 8).source);
  EXPECT_NE(data(1).training_batch(3, 8).source, data(2).training_batch(3, 8).source);
  EXPECT_EQ(data(1).evaluation_batch().source, data(2).evaluation_batch().source);
  EXPECT_EQ(data(1).seq_len(), 11);
  EXPECT_EQ(data(1).source_len(), 10);
  EXPECT_EQ(data(1).source_vocab_size(), 12);
}

}  // namespace
}  // namespace attn
