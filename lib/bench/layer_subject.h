#pragma once

#include <cstdint>
#include <vector>

#include "bench/cached_subject.h"
#include "nn/attention.h"
#include "nn/kv_cache.h"

namespace attn {

/// The tutorial's experiment: one causal self-attention layer without positions, its tokens rows
/// of normal numbers.
struct LayerShape {
  Index dim = 512;
  Index heads = 8;
  Index kv_heads = 8;
  Index head_dim = 64;
};

/// Throws UsageError, which names the options, for counts below 1 and heads that do not divide.
void validate(const LayerShape& shape);

/// The layer that has this shape.
AttentionConfig attention_config(const LayerShape& shape);

/// Bytes that a LayerSubject takes at its largest, as a real number: the arguments may be so large
/// that no integer holds it.
double layer_subject_bytes(const LayerShape& shape, Index capacity);

class LayerSubject : public CachedSubject {
 public:
  /// capacity: most tokens it will process. page_size: of its paged cache.
  LayerSubject(const LayerShape& shape, Index capacity, int threads, std::uint64_t seed,
               Index page_size = kPageRows);

  Index width() const override { return shape_.dim; }
  Index layers() const override { return 1; }
  Index heads() const override { return shape_.heads; }
  Index kv_heads() const override { return shape_.kv_heads; }
  Index weight_bytes() const override;

 private:
  void run(Index first, Index count, KvCache<float>* cache, float* output) override;

  LayerShape shape_;
  ParamStore<float> params_;
  Attention<float> attention_;
  std::vector<float> tokens_;  // (capacity, dim)
};

}  // namespace attn
