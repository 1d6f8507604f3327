#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/transformer.h"

namespace attn {

/// What an encoder-decoder reads before it writes.
struct SourceTokens {
  std::span<const Index> ids;
  std::span<const std::uint8_t> mask = {};  // as ids, 0 hides padding; empty: there is none
};

struct SessionSettings {
  Index capacity = 0;  // most tokens that a sequence will be fed
  bool use_cache = true;
  int threads = 1;
  /// Most tokens that the model sees at a time: beyond it, every feed computes the last so many
  /// anew, at the positions from 0 on, as if nothing had been before them. 0: no bound.
  Index window = 0;
  /// With a cache, many tokens are fed so many at a time. 0: all together.
  Index prefill_chunk = 0;
  KvLayout layout = {};  // of the cache
};

/// Feeds a decoder piece by piece, with a cache or by computing everything again. It begins with
/// one sequence, which may fork into several of the same length; those go through the model
/// together, as one batch. An encoder-decoder encodes its source in the first feed and each
/// cross-attention projects it once; without a cache both are done again in every feed.
template <class T>
class DecodeSession {
 public:
  DecodeSession(const Transformer<T>& model, const SessionSettings& settings);
  /// An encoder-decoder's, which keeps a copy of the source.
  DecodeSession(const Transformer<T>& model, const SourceTokens& source,
                const SessionSettings& settings);

  /// Logits (vocab_size) of the only sequence after these tokens and all before them; valid until
  /// the next call. Throws ShapeError for no tokens and beyond the capacity.
  std::span<const T> feed(std::span<const Index> ids);
  /// The same of each sequence, (sequences, vocab_size): ids (sequences, n), as many for each.
  Matrix<const T> feed_each(std::span<const Index> ids);

  /// From now on sequence i is what sequence parents[i] was.
  void fork(std::span<const Index> parents);

  Index sequences() const { return static_cast<Index>(ids_.size()); }
  /// Tokens that each sequence was fed.
  Index length() const { return length_; }
  /// Those of one.
  std::span<const Index> ids(Index sequence) const {
    return ids_[static_cast<std::size_t>(sequence)];
  }
  /// Key rows that each key projection has multiplied so far, of all sequences together.
  const KeyRowCounts& counts() const { return counts_; }
  /// Null without a cache.
  const KvCache<T>* cache() const { return cache_ ? &*cache_ : nullptr; }

 private:
  void begin(Index context);
  void compute(Index first, Index count);

  const Transformer<T>& model_;
  SessionSettings settings_;
  Workspace work_;
  std::optional<KvCache<T>> cache_;
  std::vector<Index> one_source_;
  std::vector<std::uint8_t> one_mask_;
  std::vector<std::vector<Index>> ids_{1};  // of each sequence, all that it was fed
  std::vector<Index> fed_, source_;         // of a pass: of all sequences, one after another
  std::vector<std::uint8_t> mask_;
  Tensor<T> logits_;
  Index length_ = 0;
  KeyRowCounts counts_;
};

}  // namespace attn
