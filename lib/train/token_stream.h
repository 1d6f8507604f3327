#pragma once

#include <span>
#include <vector>

#include "core/index.h"
#include "core/rng.h"

namespace attn {

/// A long run of token ids, held in memory or fetched where it is read.
class TokenStream {
 public:
  virtual ~TokenStream() = default;

  virtual Index size() const = 0;
  /// The ids first .. first + out.size() - 1, which the stream has.
  virtual void read(Index first, std::span<Index> out) const = 0;
  /// How often each id of the vocabulary occurs in all.
  virtual const std::vector<Index>& counts() const = 0;
};

/// Ids in memory.
class TokenList : public TokenStream {
 public:
  /// Throws ShapeError for an id outside 0 .. vocab_size - 1.
  TokenList(std::vector<Index> tokens, Index vocab_size);

  Index size() const override { return static_cast<Index>(tokens_.size()); }
  void read(Index first, std::span<Index> out) const override;
  const std::vector<Index>& counts() const override { return counts_; }

 private:
  std::vector<Index> tokens_;
  std::vector<Index> counts_;
};

/// How often each id occurs from `first` on.
std::vector<Index> counts_from(const TokenStream& stream, Index first);

/// Uniform over 0 .. count - 1, for more than Rng::below can tell apart too.
Index random_place(Rng& rng, Index count);

}  // namespace attn
