#pragma once

#include <deque>

#include "nn/attention.h"
#include "nn/kv_cache.h"

namespace attn {

/// The attention layers of a decoder whose numbers nobody wants: a pass counts the rows of their
/// key projections and takes their room in a cache as any pass does, and computes nothing.
class CountedLayers {
 public:
  CountedLayers(const AttentionConfig& config, Index layers);
  CountedLayers(const CountedLayers&) = delete;
  CountedLayers& operator=(const CountedLayers&) = delete;

  /// One sequence of so many rows, behind those in the cache; null: without.
  void run(Index rows, KvCache<float>* cache, KeyRowCounts& counts) const;

 private:
  ParamStore<float> params_;  // never allocated
  std::deque<Attention<float>> layers_;
};

}  // namespace attn
