#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/transformer.h"

namespace attn {

/// Feeds one sequence to a decoder piece by piece, with a cache or by computing everything again.
template <class T>
class DecodeSession {
 public:
  /// capacity: most tokens it will be fed.
  DecodeSession(const Transformer<T>& model, Index capacity, bool use_cache, int threads = 1);

  /// Logits (vocab_size) after these tokens and all before them; valid until the next call.
  /// Throws ShapeError for no tokens and beyond the capacity.
  std::span<const T> feed(std::span<const Index> ids);

  Index length() const { return length_; }
  /// Key rows that each key projection has multiplied so far.
  const KeyRowCounts& counts() const { return counts_; }
  /// Weights and hidden states that later calls of feed should keep: those of its rows.
  void set_probe(Probe<T>* probe) { probe_ = probe; }
  /// Null without a cache.
  const KvCache<T>* cache() const { return cache_ ? &*cache_ : nullptr; }

 private:
  const Transformer<T>& model_;
  Workspace work_;
  std::optional<KvCache<T>> cache_;
  std::vector<Index> ids_;  // all so far, without a cache
  std::vector<T> logits_;
  Index capacity_;
  Index length_ = 0;
  KeyRowCounts counts_;
  Probe<T>* probe_ = nullptr;
};

struct SamplingSettings {
  double temperature = 0;  // 0: greedy; otherwise logits are divided by it
  std::uint64_t seed = 0;
  std::uint32_t sample = 0;  // number of the sample: an independent stream of the same seed
};

/// The next token. Greedy takes the largest logit, the lowest id of equals. Sampling draws from
/// softmax(logits / temperature) by one uniform number of (seed, sample, position), so a token
/// depends on nothing drawn before it. Throws UsageError for a negative or non-finite temperature.
template <class T>
Index choose_token(std::span<const T> logits, const SamplingSettings& settings, Index position);

struct GenerationSettings {
  Index new_tokens = 0;
  SamplingSettings sampling;
  bool use_cache = true;
  int threads = 1;
  /// Called with every token as it is chosen.
  std::function<void(Index token)> on_token;
};

struct Generation {
  std::vector<Index> tokens;  // the new ones only
  /// P + N - 1 rows with a cache, N P + N (N - 1) / 2 without, for a prompt of P and N new tokens.
  KeyRowCounts counts;
  Index cache_bytes = 0;
};

/// Continues a prompt. Throws UsageError for an empty prompt, and where prompt and new tokens pass
/// the model's longest sequence (naming both numbers).
template <class T>
Generation generate(const Transformer<T>& model, std::span<const Index> prompt,
                    const GenerationSettings& settings);

}  // namespace attn
