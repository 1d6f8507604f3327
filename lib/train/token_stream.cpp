#include "train/token_stream.h"

#include <algorithm>

#include "core/ceil_div.h"
#include "core/error.h"

namespace attn {

TokenList::TokenList(std::vector<Index> tokens, Index vocab_size)
    : tokens_(std::move(tokens)), counts_(static_cast<std::size_t>(vocab_size), 0) {
  for (const Index token : tokens_) {
    require_shape(token >= 0 && token < vocab_size, "token list: an id outside the vocabulary");
    ++counts_[static_cast<std::size_t>(token)];
  }
}

void TokenList::read(Index first, std::span<Index> out) const {
  std::copy_n(tokens_.begin() + first, out.size(), out.begin());
}

std::vector<Index> counts_from(const TokenStream& stream, Index first) {
  constexpr Index kBlock = Index{1} << 16;
  std::vector<Index> counts(stream.counts().size(), 0);
  std::vector<Index> block(static_cast<std::size_t>(kBlock));
  while (first < stream.size()) {
    const std::span<Index> part(block.data(),
                                static_cast<std::size_t>(std::min(kBlock, stream.size() - first)));
    stream.read(first, part);
    for (const Index token : part) ++counts[static_cast<std::size_t>(token)];
    first += static_cast<Index>(part.size());
  }
  return counts;
}

Index random_place(Rng& rng, Index count) {
  constexpr Index kMost = Index{1} << 32;
  if (count <= kMost) return rng.below(count);
  const Index blocks = ceil_div(count, kMost);
  for (;;) {
    const Index place = rng.below(blocks) * kMost + static_cast<Index>(rng.bits());
    if (place < count) return place;
  }
}

}  // namespace attn
