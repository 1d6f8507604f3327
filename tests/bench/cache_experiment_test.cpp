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

const CacheRow& row_of(const CacheExperiment& experiment, const std::string& phase, CacheKind cache,
                       Index new_tokens) {
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
    run_plan(*subjects.front(), {kWith, 1, 20}, {outputs.back().data(), 20, 16});
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
  void restart(CacheKind) override { length_ = rows_ = 0; }
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
  Index weight_bytes() const override { return 1; }

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

TEST(CacheExperiment, YardsticksForCachedDecodingOnly) {
  CacheExperiment experiment(one_layer(6), {{0, 6}}, {kWith, kWithout});
  experiment.verify();
  experiment.add_yardsticks(1);
  EXPECT_GT(row_of(experiment, "decode", kWith, 6).reference_bandwidth.value_or(0), 1e6);
  EXPECT_FALSE(row_of(experiment, "prefill", kWith, 6).reference_bandwidth.has_value());
  EXPECT_FALSE(row_of(experiment, "decode", kWithout, 6).reference_bandwidth.has_value());
}

}  // namespace
}  // namespace attn
