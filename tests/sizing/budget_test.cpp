#include "sizing/budget.h"

#include <gtest/gtest.h>

#include "core/rng.h"
#include "sizing/known_models.h"

namespace attn {
namespace {

CacheQuestion asked(const char* type = "f16") {
  CacheQuestion question;
  question.key_type = cache_type(type, "");
  question.value_type = question.key_type;
  return question;
}

TEST(Budget, IsWhatWeightsAndReserveLeave) {
  const Budget budget{.memory = 1000, .weights = 301, .reserved = 100, .ranks = 2};
  EXPECT_EQ(budget.weights_per_rank(), 151);
  EXPECT_EQ(budget.for_cache(), 749);
}

TEST(Budget, LargestThatFits) {
  for (Index limit = 0; limit < 70; ++limit) {
    EXPECT_EQ(largest_that_fits(50, [&](Index n) { return n <= limit; }),
              std::min<Index>(limit, 50));
  }
  EXPECT_EQ(largest_that_fits(0, [](Index) { return true; }), 0);
}

// 16 GiB of cache hold 32,768 tokens of the textbook model at half a MiB each.
TEST(Budget, TheTextbookModel) {
  const CacheSpec spec = uniform_spec(32, 32, 128);
  EXPECT_EQ(largest_context(spec, asked(), Index{16} << 30), 32768);
  CacheQuestion question = asked();
  question.lengths.tokens = 4096;
  EXPECT_EQ(largest_batch(spec, question, Index{16} << 30), 8);
  EXPECT_EQ(largest_context(spec, asked(), (Index{1} << 19) - 1), 0);
}

TEST(Budget, ACacheThatDoesNotGrowFitsAnyContext) {
  CacheSpec spec;
  spec.add(window_layer(1, 8, 8, 10));
  EXPECT_EQ(largest_context(spec, asked(), 1000), kUnbounded);
}

// Any model and budget: what is found fits, and one more does not.
TEST(BudgetProperties, TheInverseIsExact) {
  Rng rng(7, RandomPurpose::kExample);
  for (int trial = 0; trial < 300; ++trial) {
    CacheSpec spec;
    const Index kinds = 1 + rng.below(3);
    for (Index i = 0; i < kinds; ++i) {
      const Index heads = 1 + rng.below(8);
      const Index dim = 8 * (1 + rng.below(16));
      const Index count = 1 + rng.below(30);
      const Index window = 1 + rng.below(3000);
      spec.add(rng.below(2) == 0 ? full_layer(heads, dim, dim)
                                 : window_layer(heads, dim, dim + 8, window),
               count);
    }
    spec.add(full_layer(1, 8, 8));  // so that something grows
    CacheQuestion question = asked();
    question.lengths.sequences = 1 + rng.below(5);
    question.runtime.kind = trial % 2 == 0 ? Runtime::Kind::kIdeal : Runtime::Kind::kVllm;
    const Index bytes = 1 + rng.below(1 << 28);
    const Index found = largest_context(spec, question, bytes);
    const auto needs = [&](Index tokens) {
      CacheQuestion other = question;
      other.lengths.tokens = tokens;
      return *rank_bytes(spec, other);
    };
    if (found > 0) {
      EXPECT_LE(needs(found), bytes);
    }
    EXPECT_GT(needs(found + 1), bytes);
    question.lengths.tokens = 1 + rng.below(5000);
    const Index batch = largest_batch(spec, question, bytes);
    question.lengths.sequences = batch + 1;
    EXPECT_GT(*rank_bytes(spec, question), bytes);
  }
}

// The sum over layers is the sum of its parts, and nothing shrinks with tokens.
TEST(SizeProperties, SumsAddUpAndGrow) {
  for (const KnownModel& preset : known_models()) {
    for (const Runtime::Kind kind : {Runtime::Kind::kIdeal, Runtime::Kind::kVllm}) {
      CacheQuestion question = asked("bf16");
      question.runtime.kind = kind;
      question.lengths = {5000, 100, 3};
      const KvBytes all = kv_bytes(preset.spec, question);
      EXPECT_EQ(all.total, all.keys + all.values) << preset.name;
      Index sum = 0;
      Index state = 0;
      for (const LayerRun& run : preset.spec.layers) {
        const KvBytes layer = layer_bytes(preset.spec, run.layer, question);
        sum += run.count * layer.total;
        state += run.count * layer.state;
      }
      EXPECT_EQ(sum, all.total) << preset.name;
      EXPECT_EQ(state, all.state) << preset.name;
      Index before = 0;
      for (Index tokens = 1; tokens < 40'000; tokens += 577) {
        question.lengths.tokens = tokens;
        const Index bytes = kv_bytes(preset.spec, question).total;
        EXPECT_GE(bytes, before) << preset.name << " at " << tokens;
        before = bytes;
      }
    }
  }
}

}  // namespace
}  // namespace attn
