#pragma once

#include <optional>

#include "bench/decode_subject.h"
#include "nn/kv_cache.h"
#include "nn/pass.h"

namespace attn {

/// What the subjects share: their caches, the rows counted and the memory of a pass.
class CachedSubject : public DecodeSubject {
 public:
  void restart(CacheKind cache) override {
    for (std::optional<KvCache<float>>* one : {&contiguous_, &paged_}) (*one)->truncate(0);
    cache_ = cache == CacheKind::kPaged ? &*paged_ : &*contiguous_;
    counts_.rows.clear();
  }
  void append(Index count, float* output) override { run(cache_->length(), count, cache_, output); }
  void recompute(Index length, float* output) override { run(0, length, nullptr, output); }
  Index key_rows() const override { return counts_.each(); }
  Index cache_bytes() const override { return cache_->bytes_of_rows(); }
  Index allocated_bytes() const override { return cache_->bytes(); }

 protected:
  explicit CachedSubject(int threads) : work_(threads) {}

  /// Processes the `count` tokens from `first` on, with or without the cache; `output` gets the
  /// last one's.
  virtual void run(Index first, Index count, KvCache<float>* cache, float* output) = 0;

  Workspace work_;
  std::optional<KvCache<float>> contiguous_, paged_;  // set by the constructor of the subject
  KvCache<float>* cache_ = nullptr;                   // the one in use
  KeyRowCounts counts_;
};

}  // namespace attn
