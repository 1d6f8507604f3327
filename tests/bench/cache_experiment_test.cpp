#include "bench/cache_experiment.h"

#include <gtest/gtest.h>

#include <limits>

#include "bench/layer_subject.h"

namespace attn {
namespace {

using Subjects = std::vector<std::unique_ptr<DecodeSubject>>;

Subjects one_layer(Index capacity, Index kv_heads = 2, int threads = 1) {
  Subjects subjects;
  subjects.push_back(
      std::make_unique<LayerSubject>(LayerShape{16, 4, kv_heads, 4}, capacity, threads, 0));
  return subjects;
}

const CacheRow& row_of(const CacheExperiment& experiment, const std::string& phase,
                       const CacheWay& cache, Index new_tokens) {
  for (const CacheRow& row : experiment.rows()) {
    if (row.phase == phase && row.cache == cache && row.work.new_tokens == new_tokens) return row;
  }
  throw std::runtime_error("no such row: " + phase);
}

constexpr CacheKind kWith = CacheKind::kContiguous;
constexpr CacheKind kWithout = CacheKind::kNone;

TEST(CacheExperiment, CountsRowsOfGivenTokens) {
  CacheExperiment experiment(one_layer(12), {{0, 1}, {0, 5}, {0, 12}}, {kWith, kWithout});
  experiment.verify();
  EXPECT_TRUE(experiment.agreement().counts);
  EXPECT_TRUE(experiment.agreement().outputs);
  EXPECT_TRUE(experiment.agreement().compared);
  EXPECT_GT(experiment.agreement().bound, 0);
  for (const Index n : {1, 5, 12}) {
    EXPECT_EQ(row_of(experiment, "prefill", kWith, n).key_rows, n);
    EXPECT_EQ(row_of(experiment, "decode", kWith, n).key_rows, n);
    EXPECT_EQ(row_of(experiment, "decode", kWithout, n).key_rows, n * (n + 1) / 2);
    // One layer, 2 key-value heads of 4 floats, keys and values: 64 bytes a token.
    EXPECT_EQ(row_of(experiment, "decode", kWith, n).cache_bytes, 64 * n);
    EXPECT_EQ(row_of(experiment, "decode", kWithout, n).cache_bytes, 0);
    // The cache saves projecting, not reading: every step reads all that is there.
    EXPECT_EQ(row_of(experiment, "decode", kWith, n).kv_bytes_read, 64 * n * (n + 1) / 2);
    EXPECT_FALSE(row_of(experiment, "decode", kWithout, n).kv_bytes_read.has_value());
  }
}

TEST(CacheExperiment, CountsRowsOfPromptAndNewTokens) {
  CacheExperiment experiment(one_layer(12), {{5, 4}, {5, 1}}, {kWithout, kWith});
  experiment.verify();
  EXPECT_TRUE(experiment.agreement().counts);
  EXPECT_TRUE(experiment.agreement().outputs);
  EXPECT_EQ(row_of(experiment, "prefill", kWith, 4).key_rows, 5);
  EXPECT_EQ(row_of(experiment, "decode", kWith, 4).key_rows, 3);
  EXPECT_EQ(row_of(experiment, "total", kWith, 4).key_rows, 8);
  EXPECT_EQ(row_of(experiment, "prefill", kWithout, 4).key_rows, 5);
  EXPECT_EQ(row_of(experiment, "decode", kWithout, 4).key_rows, 6 + 7 + 8);
  EXPECT_EQ(row_of(experiment, "total", kWithout, 4).key_rows, 5 + 6 + 7 + 8);
  EXPECT_EQ(row_of(experiment, "total", kWith, 1).key_rows, 5);
  EXPECT_EQ(row_of(experiment, "total", kWithout, 1).key_rows, 5);
  // Steps 6, 7 and 8 read 6, 7 and 8 tokens.
  EXPECT_EQ(row_of(experiment, "decode", kWith, 4).kv_bytes_read, 64 * (6 + 7 + 8));
  EXPECT_THROW(row_of(experiment, "decode", kWith, 1), std::runtime_error)
      << "one new token comes out of the prompt: there is nothing to decode";
}

TEST(CacheExperiment, ThreadsChangeNoOutput) {
  // Cached outputs of one and of three threads, bit by bit.
  std::vector<std::vector<float>> outputs;
  for (const int threads : {1, 3}) {
    Subjects subjects = one_layer(20, 1, threads);
    outputs.emplace_back(20 * 16);
    run_plan(*subjects.front(), {kWith, 1, 20}, {outputs.back().data(), 20, 16}, {});
  }
  EXPECT_EQ(outputs[0], outputs[1]);
}

TEST(CacheExperiment, KeepsEverySampleOfEveryPhase) {
  CacheExperiment experiment(one_layer(8), {{4, 3}, {0, 6}}, {kWith, kWithout});
  experiment.verify();
  Index calls = 0, last = 0;
  experiment.measure({.warmup = 1, .repeats = 5, .seed = 0}, [&](Index done, Index all) {
    ++calls;
    last = done;
    EXPECT_EQ(all, 5 * 6) << "two ways of the prompt, three of the given tokens";
  });
  EXPECT_EQ(calls, last);
  EXPECT_EQ(calls, 30);
  for (const CacheRow& row : experiment.rows()) {
    EXPECT_EQ(row.wall.count(), 5) << row.phase;
    EXPECT_EQ(row.cpu.count(), 5) << row.phase;
    EXPECT_GT(row.wall.minimum(), 0) << row.phase;
    EXPECT_GT(row.tokens_per_second(), 0) << row.phase;
    // A step's time each, the prompt's not among them.
    const Index steps = row.phase != "decode" ? 0 : row.work.prompt > 0 ? 2 : 6;
    ASSERT_EQ(static_cast<Index>(row.steps.size()), steps) << row.phase;
    for (const Samples& step : row.steps) EXPECT_EQ(step.count(), 5);
  }
  // The total is its two phases, run for run.
  const auto& total = row_of(experiment, "total", kWith, 3).wall.values();
  for (std::size_t i = 0; i < total.size(); ++i) {
    EXPECT_EQ(total[i], row_of(experiment, "prefill", kWith, 3).wall.values()[i] +
                            row_of(experiment, "decode", kWith, 3).wall.values()[i]);
  }
}

// A subject that errs on purpose.
class Liar : public DecodeSubject {
 public:
  Index extra_rows = 0;
  float cached_error = 0;

  Index width() const override { return 1; }
  Index layers() const override { return 1; }
  Index heads() const override { return 1; }
  Index kv_heads() const override { return 1; }
  Index head_dim() const override { return 1; }
  Index window() const override { return 0; }
  void restart(const CacheWay&) override { length_ = rows_ = 0; }
  void append(Index count, float* output) override {
    length_ += count;
    rows_ += count + extra_rows;
    *output = 1.0F + cached_error;
  }
  void recompute(Index length, float* output) override {
    rows_ += length;
    *output = 1.0F;
  }
  Index key_rows() const override { return rows_; }
  Index cache_bytes() const override { return length_; }
  Index allocated_bytes() const override { return 0; }
  Index token_bytes(const CacheWay&) const override { return 1; }
  Index weight_bytes() const override { return 1; }
  double flops(Index, Index count) const override { return static_cast<double>(count); }

 private:
  Index length_ = 0;
  Index rows_ = 0;
};

Agreement agreement_with(Index extra_rows, float cached_error) {
  auto liar = std::make_unique<Liar>();
  liar->extra_rows = extra_rows;
  liar->cached_error = cached_error;
  Subjects subjects;
  subjects.push_back(std::move(liar));
  CacheExperiment experiment(std::move(subjects), {{0, 3}}, {kWith, kWithout});
  experiment.verify();
  return experiment.agreement();
}

TEST(CacheExperiment, SeesWrongCountsAndOutputs) {
  EXPECT_TRUE(agreement_with(0, 0).counts);
  EXPECT_TRUE(agreement_with(0, 0).outputs);
  EXPECT_FALSE(agreement_with(1, 0).counts);
  EXPECT_TRUE(agreement_with(0, 5e-6F).outputs);
  EXPECT_FALSE(agreement_with(0, 2e-5F).outputs);
  EXPECT_NEAR(agreement_with(0, 2e-5F).max_difference, 2e-5, 1e-7);
  EXPECT_FALSE(agreement_with(0, std::numeric_limits<float>::quiet_NaN()).outputs);
  EXPECT_FALSE(agreement_with(0, std::numeric_limits<float>::infinity()).outputs);
}

TEST(CacheExperiment, OneWayAloneIsNoComparison) {
  CacheExperiment experiment(one_layer(6), {{0, 6}}, {kWithout});
  experiment.verify();
  EXPECT_TRUE(experiment.agreement().counts);
  EXPECT_FALSE(experiment.agreement().compared);
}

TEST(CacheExperiment, AWindowIsReadAndKeptInstead) {
  // 64 bytes a token; pages of 2 rows.
  Subjects subjects;
  subjects.push_back(std::make_unique<LayerSubject>(LayerShape{16, 4, 2, 4, 3}, 12, 1, 0, 2));
  CacheExperiment experiment(std::move(subjects), {{0, 12}}, {kWith, CacheKind::kPaged, kWithout});
  experiment.verify();
  EXPECT_TRUE(experiment.agreement().counts);
  EXPECT_TRUE(experiment.agreement().outputs) << "computed again with the same window";
  for (const CacheKind cache : {kWith, CacheKind::kPaged}) {
    const CacheRow& row = row_of(experiment, "decode", cache, 12);
    EXPECT_EQ(row.key_rows, 12) << "a window saves no projection";
    EXPECT_EQ(row.cache_bytes, 64 * 3);
    EXPECT_EQ(row.kv_bytes_read, 64 * (1 + 2 + 10 * 3));
    // 4 matrices of 16 x 16 (q, out) and 16 x 8 (k, v), and 4 * 16 for each key that is seen.
    EXPECT_EQ(row.flops, 12 * 2 * (2 * 256 + 2 * 128) + 4 * 16 * (1 + 2 + 10 * 3));
  }
  // Rows 9 to 11 of 12: pages 4 and 5. What is contiguous gives nothing back.
  EXPECT_EQ(row_of(experiment, "decode", CacheKind::kPaged, 12).allocated_bytes, 64 * 4);
  EXPECT_EQ(row_of(experiment, "decode", kWith, 12).allocated_bytes, 64 * 12);
  // Without it a step of length L projects keys and values of all L rows, and the last one asks.
  EXPECT_EQ(row_of(experiment, "decode", kWithout, 12).flops,
            2 * (12 * 2 * 256 + 78 * 2 * 128) + 4 * 16 * (1 + 2 + 10 * 3));
}

TEST(CacheExperiment, WaysOfTheSameTypesAreHeldToEachOther) {
  constexpr KvType kQ8 = KvType::kQ8_0;
  constexpr KvType kQ4 = KvType::kQ4_0;
  Subjects subjects;
  subjects.push_back(std::make_unique<LayerSubject>(LayerShape{64, 2, 1, 32}, 20, 1, 0, 4));
  CacheExperiment experiment(std::move(subjects), {{0, 20}},
                             {{kWith, kQ8, kQ4}, {CacheKind::kPaged, kQ8, kQ4}, kWith});
  experiment.verify();
  const Agreement& agreement = experiment.agreement();
  EXPECT_TRUE(agreement.counts);
  EXPECT_TRUE(agreement.outputs);
  ASSERT_EQ(agreement.stored.size(), 1U);
  const StorageAgreement& stored = agreement.stored[0];
  EXPECT_TRUE(stored.compared);
  EXPECT_LE(stored.max_difference, stored.bound);
  // A value of 4 bits is off by up to a sixteenth of its block's largest, and a mean of several by
  // less; exact storage would be off by nothing.
  EXPECT_GT(stored.storage_error, 1e-3);
  EXPECT_LT(stored.storage_error, 1.0 / 8);
  for (const CacheRow& row : experiment.rows()) {
    EXPECT_EQ(row.storage_error.has_value(), !row.cache.types.exact()) << row.phase;
    // 32 numbers of a key in 34 bytes, of a value in 18.
    EXPECT_EQ(row.cache_bytes, 20 * (row.cache.types.exact() ? 2 * 4 * 32 : 34 + 18));
  }
  const CacheRow& paged = row_of(experiment, "decode", {CacheKind::kPaged, kQ8, kQ4}, 20);
  EXPECT_LE(*paged.max_difference, stored.bound) << "pages of 4, whole tiles of none";
}

TEST(CacheExperiment, CountsAloneCompareNothing) {
  Subjects subjects;
  subjects.push_back(std::make_unique<LayerSubject>(LayerShape{16, 4, 2, 4}, 12, 1, 0, kPageRows,
                                                    Arithmetic::kNone));
  CacheExperiment least(std::move(subjects), {{0, 5}, {3, 4}}, {kWith, kWithout});
  CacheExperiment whole(one_layer(12), {{0, 5}, {3, 4}}, {kWith, kWithout});
  least.verify(false);
  whole.verify();
  EXPECT_FALSE(least.agreement().compared);
  ASSERT_EQ(least.rows().size(), whole.rows().size());
  for (std::size_t i = 0; i < least.rows().size(); ++i) {
    const CacheRow& row = least.rows()[i];
    const CacheRow& other = whole.rows()[i];
    EXPECT_EQ(row.key_rows, other.key_rows);
    EXPECT_EQ(row.cache_bytes, other.cache_bytes);
    EXPECT_EQ(row.allocated_bytes, other.allocated_bytes);
    EXPECT_EQ(row.kv_bytes_read, other.kv_bytes_read);
    EXPECT_EQ(row.weight_bytes_read, other.weight_bytes_read);
    EXPECT_EQ(row.flops, other.flops);
  }
}

// As long as nothing can compute it: 5 * 10^11 rows, 4 GB of keys and values.
TEST(CacheExperiment, CountsAMillionTokens) {
  constexpr Index kMany = 1'000'000;
  Subjects subjects;
  subjects.push_back(
      std::make_unique<LayerSubject>(LayerShape{}, kMany, 1, 0, kPageRows, Arithmetic::kNone));
  CacheExperiment experiment(std::move(subjects), {{0, kMany}},
                             {kWith, CacheKind::kPaged, kWithout});
  experiment.verify(false);
  EXPECT_TRUE(experiment.agreement().counts);
  EXPECT_EQ(row_of(experiment, "decode", kWithout, kMany).key_rows, 500'000'500'000);
  EXPECT_EQ(row_of(experiment, "decode", kWith, kMany).cache_bytes, 4096 * kMany);
  EXPECT_EQ(row_of(experiment, "decode", CacheKind::kPaged, kMany).allocated_bytes, 4096 * kMany);
}

TEST(CacheExperiment, YardsticksForCachedDecodingOnly) {
  CacheExperiment experiment(one_layer(6), {{0, 6}}, {kWith, kWithout});
  experiment.verify();
  experiment.add_yardsticks(1);
  EXPECT_GT(row_of(experiment, "decode", kWith, 6).reference_bandwidth.value_or(0), 1e6);
  EXPECT_FALSE(row_of(experiment, "prefill", kWith, 6).reference_bandwidth.has_value());
  EXPECT_FALSE(row_of(experiment, "decode", kWithout, 6).reference_bandwidth.has_value());
  ASSERT_TRUE(experiment.yardsticks().has_value());
  EXPECT_GT(experiment.yardsticks()->memory_bandwidth, 1e6);
  EXPECT_GT(experiment.yardsticks()->sgemm_peak, 1e6);
}

}  // namespace
}  // namespace attn
