#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "model/sampling.h"
#include "model/transformer.h"

namespace attn {

/// What an encoder-decoder reads before it writes.
struct SourceTokens {
  std::span<const Index> ids;
  std::span<const std::uint8_t> mask = {};  // as ids, 0 hides padding; empty: there is none
};

/// Feeds one sequence to a decoder piece by piece, with a cache or by computing everything again.
/// An encoder-decoder encodes its source in the first feed and each cross-attention projects it
/// once; without a cache both are done again in every feed.
template <class T>
class DecodeSession {
 public:
  /// capacity: most tokens it will be fed.
  DecodeSession(const Transformer<T>& model, Index capacity, bool use_cache, int threads = 1);
  /// An encoder-decoder's, which keeps a copy of the source.
  DecodeSession(const Transformer<T>& model, const SourceTokens& source, Index capacity,
                bool use_cache, int threads = 1);

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
  std::vector<Index> source_;
  std::vector<std::uint8_t> source_mask_;
  std::vector<Index> ids_;  // all so far, without a cache
  std::vector<T> logits_;
  Index capacity_;
  Index length_ = 0;
  KeyRowCounts counts_;
  Probe<T>* probe_ = nullptr;
};

struct GenerationSettings {
  Index new_tokens = 0;      // at most so many
  std::optional<Index> eos;  // the token that ends a sequence; none: only new_tokens does
  SamplingSettings sampling;
  bool use_cache = true;
  int threads = 1;
  /// Called with every token as it is chosen, EOS too.
  std::function<void(Index token)> on_token;
};

/// Why a sequence ended: its last token is EOS, or it has as many tokens as were wanted.
enum class Finish { kEos, kLength };

struct Generation {
  std::vector<Index> tokens;  // the new ones only, up to EOS and with it
  /// Of each token: ln softmax of the model's own logits, whatever the temperature.
  std::vector<double> log_probs;
  Finish finish = Finish::kLength;
  /// The least gap between the best and the second logit at any step.
  double smallest_lead = std::numeric_limits<double>::infinity();
  /// For a prompt of P and N new tokens, a self-attention that reads them projects P + N - 1 rows
  /// with a cache, N P + N (N - 1) / 2 without. Over a source of S rows, each attention of the
  /// encoder and each cross-attention projects S rows with a cache, N S without.
  KeyRowCounts counts;
  Index cache_bytes = 0;
};

/// Most tokens that may follow a prompt of this length; nothing where positions have no bound. A
/// learned table has a row for each token that is read, and the last new one is not.
std::optional<Index> longest_continuation(const ModelConfig& config, Index prompt_length);

/// Continues a prompt with a decoder. Throws UsageError for an empty prompt, for ids outside the
/// vocabulary, and where prompt and new tokens pass the model's longest sequence (naming both
/// numbers).
template <class T>
Generation generate(const Transformer<T>& model, std::span<const Index> prompt,
                    const GenerationSettings& settings);

/// Answers a source with an encoder-decoder, whose decoder begins with the prompt (usually BOS
/// alone). Throws UsageError as above, for an empty source, and for one beyond the learned table.
template <class T>
Generation generate(const Transformer<T>& model, const SourceTokens& source,
                    std::span<const Index> prompt, const GenerationSettings& settings);

}  // namespace attn
