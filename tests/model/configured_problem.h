#pragma once

#include <cstdint>
#include <vector>

#include "model/configurations.h"

// A model of one row of configurations.h with something to read, for tests that hold one way
// through it to another.

namespace attn::testing {

constexpr Index kBatch = 2;
constexpr Index kLength = 9;
constexpr Index kSourceLength = 4;

/// kBatch sequences of kLength tokens and, where the model reads one, a source with padding.
struct Problem {
  Transformer<float> model;
  std::vector<Index> ids, source;
  std::vector<std::uint8_t> source_mask = {1, 1, 1, 1, 1, 1, 0, 0};

  explicit Problem(const ModelConfig& config)
      : model(config), ids(some_ids(kBatch * kLength, config.vocab_size, 1)) {
    scramble(model.params(), 2);
    if (config.arch == Arch::kEncoderDecoder) {
      source = some_ids(kBatch * kSourceLength, config.source_vocab_size, 3);
    }
  }
  /// Rows of the source that the decoder reads.
  Index context() const { return source.empty() ? 0 : kSourceLength; }

  /// The columns first .. first + count - 1 of every sequence.
  std::vector<Index> columns(Index first, Index count) const {
    std::vector<Index> cut;
    for (Index b = 0; b < kBatch; ++b) {
      const auto from = ids.begin() + b * kLength + first;
      cut.insert(cut.end(), from, from + count);
    }
    return cut;
  }
  /// Refers to `cut` and to this.
  TokenInput input(const std::vector<Index>& cut) const {
    TokenInput made{cut, {kBatch, static_cast<Index>(cut.size()) / kBatch, nullptr}, source, {}};
    if (!source.empty()) made.source_rows = {kBatch, kSourceLength, source_mask.data()};
    return made;
  }
  /// An empty cache for all sequences.
  KvCache<float> cache(Index capacity, const KvLayout& layout = {}) const {
    return model.make_cache(kBatch, capacity, context(), layout);
  }
};

}  // namespace attn::testing
