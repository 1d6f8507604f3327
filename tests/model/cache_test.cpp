#include <gtest/gtest.h>

#include <algorithm>

#include "model/configured_problem.h"

// One forward serves one pass and cached decoding: the same logits, the same maps, and each key
// row projected once.

namespace attn {
namespace {

using testing::configurations;
using testing::kBatch;
using testing::kLength;
using testing::kSourceLength;
using testing::Problem;

struct Seen {
  Tensor<float> logits;  // (batch, length, vocab)
  Probe<float> probe;
  KeyRowCounts counts;
};

Seen one_pass(const Problem& p, Index length) {
  Workspace work;
  Seen seen;
  seen.probe.want_weights = true;
  Pass<float> pass = p.model.pass(work);
  pass.probe = &seen.probe;
  pass.counts = &seen.counts;
  const std::vector<Index> cut = p.columns(0, length);
  const Matrix<float> logits = p.model.forward(pass, p.input(cut), nullptr, nullptr);
  seen.logits = Tensor<float>({kBatch, length, logits.cols()});
  std::copy_n(logits.data(), logits.size(), seen.logits.data());
  return seen;
}

float largest(const std::vector<float>& values) {
  float most = 0;
  for (const float value : values) most = std::max(most, std::abs(value));
  return most;
}

// Feeds the sequences in chunks and holds each chunk's logits and maps to those of one pass.
void expect_chunks_equal(const Problem& p, const std::vector<Index>& chunks, const Seen& whole,
                         const KvLayout& layout) {
  const Index vocab = p.model.config().vocab_size;
  // Bits differ because a product of one row is summed in another order than one of nine: some
  // units of float's last place, for which 1e-5 of the largest logit leaves room.
  const float limit = 1e-5F * largest(whole.logits.values);
  constexpr float kWeightLimit = 2e-6F;  // weights lie in [0, 1]
  KvCache<float> cache = p.cache(kLength, layout);
  Workspace work;
  KeyRowCounts counts;
  Index first = 0;
  for (const Index count : chunks) {
    Probe<float> probe;
    probe.want_weights = true;
    Pass<float> pass = p.model.pass(work);
    pass.probe = &probe;
    pass.counts = &counts;
    const Arena::Scope scope(work.arena());
    const std::vector<Index> cut = p.columns(first, count);
    const Matrix<float> logits = p.model.forward(pass, p.input(cut), &cache, nullptr);
    for (Index row = 0; row < kBatch * count; ++row) {
      const Index at = row / count * kLength + first + row % count;
      for (Index j = 0; j < vocab; ++j) {
        ASSERT_NEAR(logits(row, j), whole.logits.matrix()(at, j), limit)
            << "row " << at << ", token " << j;
      }
    }
    for (const auto& [name, weights] : probe.weights) {
      if (name.starts_with("encoder.")) continue;  // one pass, when the cache was empty
      const Tensor<float>& full = whole.probe.weights.at(name);
      const Index kv_len = weights.dim(3);
      ASSERT_EQ(kv_len, name.ends_with("cross_attn") ? kSourceLength : first + count) << name;
      for (Index r = 0; r < weights.size() / kv_len; ++r) {
        const Index head = r / count;  // of all sequences
        for (Index j = 0; j < kv_len; ++j) {
          const float expected = full.matrix()(head * kLength + first + r % count, j);
          ASSERT_NEAR(weights.matrix()(r, j), expected, kWeightLimit) << name;
          ASSERT_TRUE(expected != 0 || weights.matrix()(r, j) == 0) << name << ": a hidden key";
        }
      }
    }
    first += count;
  }
  for (const auto& [name, rows] : counts.rows) {
    const bool of_source = name.starts_with("encoder.") || name.ends_with("cross_attn");
    EXPECT_EQ(rows, of_source ? kSourceLength : kLength) << name;
  }
}

// There are 2^8 ways to cut 9 rows: bit i of `cuts` is a cut after row i.
std::vector<Index> chunks_of(std::size_t cuts) {
  std::vector<Index> chunks = {1};
  for (Index i = 0; i + 1 < kLength; ++i) {
    if ((cuts >> i & 1) != 0) {
      chunks.push_back(1);
    } else {
      chunks.back() += 1;
    }
  }
  return chunks;
}

// One row at a time and all in one for each configuration, and among them every other way to cut;
// from one run of memory, and from pages of several sizes.
TEST(Cache, AnyChunksGiveTheLogitsAndMapsOfOnePass) {
  constexpr std::size_t kWays = std::size_t{1} << (kLength - 1);
  constexpr Index kPageSizes[] = {0, 4, 1, 3};
  std::size_t next = 1;
  std::size_t ways = 0;
  for (const auto& configuration : configurations()) {
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    const Seen whole = one_pass(p, kLength);
    for (const std::size_t cuts : {std::size_t{0}, kWays - 1, next, next + 1, next + 2, next + 3}) {
      SCOPED_TRACE(fmt::format("cuts {:#b}", cuts % kWays));
      const Index page_size = kPageSizes[ways++ % std::size(kPageSizes)];
      SCOPED_TRACE(fmt::format("pages of {}", page_size));
      expect_chunks_equal(p, chunks_of(cuts % kWays), whole, {page_size});
      if (HasFatalFailure()) return;
    }
    next += 4;
  }
  EXPECT_GE(next, kWays);
}

// Each row's place is its own sequence's, and what one reads no other sees.
TEST(Cache, SequencesOfUnequalLengthDecodeTogether) {
  constexpr Index kLengths[] = {3, 7, 1};
  for (const auto& configuration : configurations()) {
    if (configuration.model.completed().arch != Arch::kDecoder) continue;
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    const Seen whole = one_pass(p, kLength);
    const Index vocab = p.model.config().vocab_size;
    KvCache<float> cache = p.model.make_cache(3, kLength, 0, {2});
    Workspace work;
    // Every sequence is the first of the problem's, begun at its own length.
    for (Index sequence = 0; sequence < 3; ++sequence) {
      cache.select(std::span<const Index>(&sequence, 1));
      const Arena::Scope scope(work.arena());
      TokenInput input;
      input.ids = std::span<const Index>(p.ids).first(
          static_cast<std::size_t>(kLengths[static_cast<std::size_t>(sequence)]));
      input.rows = {1, static_cast<Index>(input.ids.size()), nullptr};
      p.model.forward(p.model.pass(work), input, &cache, nullptr);
    }
    const Index all[] = {0, 1, 2};
    cache.select(all);
    for (Index step = 0; step < 2; ++step) {
      const Arena::Scope scope(work.arena());
      std::vector<Index> next;
      for (const Index length : kLengths) {
        next.push_back(p.ids[static_cast<std::size_t>(length + step)]);
      }
      TokenInput input;
      input.ids = next;
      input.rows = {3, 1, nullptr};
      const Matrix<float> logits = p.model.forward(p.model.pass(work), input, &cache, nullptr);
      for (Index row = 0; row < 3; ++row) {
        const Index at = kLengths[static_cast<std::size_t>(row)] + step;
        for (Index j = 0; j < vocab; ++j) {
          ASSERT_NEAR(logits(row, j), whole.logits.matrix()(at, j),
                      1e-5F * largest(whole.logits.values))
              << "sequence " << row << ", step " << step;
        }
      }
    }
  }
}

TEST(Cache, WithoutItKeyRowsGrowAsTheSquare) {
  for (const auto& configuration : configurations()) {
    SCOPED_TRACE(configuration.name);
    const Problem p(configuration.model);
    KeyRowCounts counts;
    for (Index length = 1; length <= kLength; ++length) {
      for (const auto& [name, rows] : one_pass(p, length).counts.rows) counts.add(name, rows);
    }
    for (const auto& [name, rows] : counts.rows) {
      const bool of_source = name.starts_with("encoder.") || name.ends_with("cross_attn");
      EXPECT_EQ(rows, of_source ? kLength * kSourceLength : kLength * (kLength + 1) / 2) << name;
    }
  }
}

TEST(Cache, BytesAreTheFormulaAndTheHeadsAreTheKeyValueHeads) {
  for (const auto& configuration : configurations()) {
    const ModelConfig& c = configuration.model;
    const Problem p(c);
    const KvCache<float> cache = p.cache(100);
    EXPECT_EQ(cache.bytes(),
              2 * c.depth * c.kv_heads * c.head_dim * (100 + p.context()) * kBatch * 4)
        << configuration.name;
  }
}

TEST(Cache, TruncatedItDecodesAnew) {
  ModelConfig config;
  config.dim = 8;
  config.mlp_hidden = 8;
  const Problem p(config.completed());
  const Seen whole = one_pass(p, kLength);
  KvCache<float> cache = p.cache(kLength);
  Workspace work;
  const std::vector<Index> start = p.columns(0, 6);
  p.model.forward(p.model.pass(work), p.input(start), &cache, nullptr);
  cache.truncate(4);
  const std::vector<Index> rest = p.columns(4, 5);
  const Matrix<float> logits =
      p.model.forward(p.model.pass(work), p.input(rest), &cache, nullptr, LogitRows::kLast);
  ASSERT_EQ(logits.rows(), kBatch);
  EXPECT_NEAR(logits(1, 0), whole.logits.matrix()(2 * kLength - 1, 0),
              1e-5F * largest(whole.logits.values));
  EXPECT_THROW(p.model.forward(p.model.pass(work), p.input(start), &cache, nullptr), ShapeError)
      << "6 more rows do not fit";
}

TEST(Causality, ALaterTokenChangesNoEarlierBit) {
  for (const auto& configuration : configurations()) {
    SCOPED_TRACE(configuration.name);
    Problem p(configuration.model);
    const Seen before = one_pass(p, kLength);
    constexpr Index kChanged = 5;
    p.ids[kChanged] = (p.ids[kChanged] + 1) % p.model.config().vocab_size;
    const Seen after = one_pass(p, kLength);
    const Index vocab = p.model.config().vocab_size;
    for (Index row = 0; row < kBatch * kLength; ++row) {
      const bool may_differ = row >= kChanged && row < kLength;
      const float* a = before.logits.data() + row * vocab;
      const bool same = std::equal(a, a + vocab, after.logits.data() + row * vocab);
      ASSERT_TRUE(same || may_differ) << "row " << row;
      ASSERT_TRUE(!same || row != kChanged) << "the changed token itself has no effect";
    }
  }
}

TEST(Forward, WithoutATapeMemoryDoesNotGrowWithDepth) {
  ModelConfig config;
  config.dim = 64;
  config.depth = 2;
  std::vector<std::size_t> peaks;
  for (const Index depth : {2, 12}) {
    config.depth = depth;
    const Transformer<float> model(config);
    Workspace work;
    const std::vector<Index> ids = testing::some_ids(256, 10, 1);
    TokenInput input;
    input.ids = ids;
    input.rows = {1, 256, nullptr};
    model.forward(model.pass(work), input, nullptr, nullptr);
    peaks.push_back(work.arena().peak_bytes());
  }
  EXPECT_EQ(peaks[0], peaks[1]);
}

}  // namespace
}  // namespace attn
