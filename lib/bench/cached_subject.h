#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "bench/decode_subject.h"
#include "nn/kv_cache.h"
#include "nn/pass.h"

namespace attn {

/// How much of a subject is computed. kNone is for counting alone: layers and caches are those
/// asked for, so rows and bytes are counted where they always are, but there are no numbers:
/// outputs have width 0, and a step takes the same moment whatever its length.
enum class Arithmetic { kAll, kNone };

/// What the subjects share: their caches, the rows counted and the memory of a pass.
class CachedSubject : public DecodeSubject {
 public:
  void restart(const CacheWay& way) override;
  void append(Index count, float* output) override { run(cache_->length(), count, cache_, output); }
  void recompute(Index length, float* output) override { run(0, length, nullptr, output); }
  Index key_rows() const override { return counts_.each(); }
  Index cache_bytes() const override { return cache_->bytes_of_rows(); }
  Index allocated_bytes() const override { return cache_->bytes(); }
  Index token_bytes(const CacheWay& way) const override;

 protected:
  /// page_size: of paged caches.
  CachedSubject(int threads, Index page_size) : work_(threads), page_size_(page_size) {}

  /// Processes the `count` tokens from `first` on, with or without the cache; `output` gets the
  /// last one's.
  virtual void run(Index first, Index count, KvCache<float>* cache, float* output) = 0;
  virtual KvCache<float> make_cache(const KvLayout& layout) const = 0;

  /// Operations of scores and mixing of `count` tokens after `past` others, in all layers.
  double attention_flops(Index past, Index count) const;

  Workspace work_;
  KeyRowCounts counts_;

 private:
  KvCache<float>& cache_of(const CacheWay& way);

  Index page_size_;
  // Made when first asked for and kept, so that no timed run begins with fresh memory.
  std::vector<std::pair<CacheWay, std::unique_ptr<KvCache<float>>>> caches_;
  KvCache<float>* cache_ = nullptr;  // the one in use
};

}  // namespace attn
