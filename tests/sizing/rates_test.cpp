#include "sizing/rates.h"

#include <gtest/gtest.h>

#include "sizing/known_models.h"

namespace attn {
namespace {

CacheQuestion asked(Index tokens, Index sequences) {
  CacheQuestion question;
  question.lengths.tokens = tokens;
  question.lengths.sequences = sequences;
  question.key_type = cache_type("f16", "");
  question.value_type = question.key_type;
  return question;
}

// One layer, 2 heads of 4, 10 tokens: 2 * 2 * 8 * 10 operations, 2 * 8 * 10 numbers of 2 bytes.
TEST(Rates, ByHand) {
  CacheSpec spec = uniform_spec(1, 2, 4);
  spec.heads = 2;
  EXPECT_EQ(attention_flops(spec, {10, 0, 1}), 320.0);
  // 1 + 2 + ... + 10 rows, 32 operations each, and 2 * 100 parameters a token.
  EXPECT_EQ(prefill_flops(spec, {10, 0, 1}, 100), 2.0 * 100 * 10 + 32 * 55);
  const StepWeights weights{.parameters = 100, .bytes = 200, .all_bytes = 200};
  const DecodeStep step = decode_step(spec, asked(10, 3), weights, {.bandwidth = 1160});
  EXPECT_EQ(step.weight_bytes, 200);
  EXPECT_EQ(step.cache_bytes, 3 * 320);
  EXPECT_EQ(step.flops, 3 * (200 + 320));
  EXPECT_EQ(step.seconds, 1.0);
  EXPECT_EQ(decode_step(spec, asked(10, 3), weights, {.bandwidth = 1e9, .flops = 780}).seconds,
            2.0);
}

// A window bounds what a token sees: 1 + 2 + 3 + 3 + 3.
TEST(Rates, WindowsSeeLess) {
  CacheSpec spec;
  spec.add(window_layer(1, 1, 1, 3));
  spec.heads = 1;
  EXPECT_EQ(prefill_flops(spec, {5, 0, 1}, 0), 4 * (1 + 2 + 3 + 3 + 3));
  spec.layers.clear();
  spec.add(chunk_layer(1, 1, 1, 2));
  EXPECT_EQ(prefill_flops(spec, {5, 0, 1}, 0), 4 * (1 + 2 + 1 + 2 + 1));
}

TEST(Rates, TheBatchFromWhichTheCacheDominates) {
  const CacheSpec spec = uniform_spec(1, 1, 1);  // 4 bytes a token
  const StepWeights weights{.parameters = 1, .bytes = 100, .all_bytes = 100};
  EXPECT_EQ(batch_where_cache_dominates(spec, asked(10, 1), weights), 3);  // 80 <= 100 < 120
  // At 220 bytes a second: 100 + 40 * batch bytes a step.
  EXPECT_EQ(largest_batch_at_rate(spec, asked(10, 1), weights, {.bandwidth = 220}, 1.0), 3);
  EXPECT_EQ(largest_batch_at_rate(spec, asked(10, 1), weights, {.bandwidth = 220}, 2.0), 0);
}

// Experts are read for every sequence until all of them are.
TEST(Rates, ExpertsAddUpToAllOfThem) {
  const CacheSpec spec = uniform_spec(1, 1, 1);
  const StepWeights weights{.parameters = 1, .bytes = 30, .all_bytes = 100};
  EXPECT_EQ(decode_step(spec, asked(1, 1), weights, {}).weight_bytes, 30);
  EXPECT_EQ(decode_step(spec, asked(1, 3), weights, {}).weight_bytes, 90);
  EXPECT_EQ(decode_step(spec, asked(1, 4), weights, {}).weight_bytes, 100);
}

}  // namespace
}  // namespace attn
