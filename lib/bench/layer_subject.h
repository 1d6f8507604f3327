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
  Index window = 0;  // keys that a token sees, itself among them; 0: all
};

/// Throws UsageError, which names the options, for counts below 1 and heads that do not divide.
void validate(const LayerShape& shape);

/// The layer that has this shape.
AttentionConfig attention_config(const LayerShape& shape);

/// Its cache: one empty sequence, of at most `capacity` rows.
KvShape cache_shape(const LayerShape& shape, Index capacity, const KvLayout& layout);

/// Bytes that a LayerSubject and the outputs of its runs take at their largest, with so many caches
/// side by side, as a real number: the arguments may be so large that no integer holds it.
double layer_subject_bytes(const LayerShape& shape, Index capacity, Index caches = 1);

class LayerSubject : public CachedSubject {
 public:
  /// capacity: most tokens it will process. page_size: of its paged caches.
  LayerSubject(const LayerShape& shape, Index capacity, int threads, std::uint64_t seed,
               Index page_size = kPageRows, Arithmetic arithmetic = Arithmetic::kAll);

  Index width() const override { return arithmetic_ == Arithmetic::kNone ? 0 : shape_.dim; }
  Index layers() const override { return 1; }
  Index heads() const override { return shape_.heads; }
  Index kv_heads() const override { return shape_.kv_heads; }
  Index head_dim() const override { return shape_.head_dim; }
  Index window() const override { return shape_.window; }
  Index weight_bytes() const override;
  double flops(Index past, Index count) const override;

 private:
  void run(Index first, Index count, KvCache<float>* cache, float* output) override;
  KvCache<float> make_cache(const KvLayout& layout) const override;

  LayerShape shape_;
  Index capacity_;
  ParamStore<float> params_;
  Attention<float> attention_;
  Arithmetic arithmetic_;
  std::vector<float> tokens_;  // (capacity, width)
};

}  // namespace attn
