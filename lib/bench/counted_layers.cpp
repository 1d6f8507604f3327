#include "bench/counted_layers.h"

#include <fmt/core.h>

namespace attn {

CountedLayers::CountedLayers(const AttentionConfig& config, Index layers) {
  for (Index layer = 0; layer < layers; ++layer)
    layers_.emplace_back(params_, fmt::format("blocks.{}.attn", layer), config);
}

void CountedLayers::run(Index rows, KvCache<float>* cache, KeyRowCounts& counts) const {
  Sequences sequences;
  sequences.seq_len = rows;
  Index layer = 0;
  for (const Attention<float>& attention : layers_) {
    attention.count(counts, sequences, cache != nullptr ? &cache->self(layer) : nullptr);
    ++layer;
  }
}

}  // namespace attn
