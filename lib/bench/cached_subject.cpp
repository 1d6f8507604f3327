#include "bench/cached_subject.h"

namespace attn {

KvCache<float>& CachedSubject::cache_of(const CacheWay& way) {
  for (const auto& [known, cache] : caches_) {
    if (known == way) return *cache;
  }
  KvLayout layout;
  layout.page_size = way.kind == CacheKind::kPaged ? page_size_ : 0;
  layout.k_type = way.types.keys;
  layout.v_type = way.types.values;
  layout.window = window();
  caches_.emplace_back(way, std::make_unique<KvCache<float>>(make_cache(layout)));
  return *caches_.back().second;
}

void CachedSubject::restart(const CacheWay& way) {
  counts_.rows.clear();
  cache_ = way.cached() ? &cache_of(way) : nullptr;
  if (cache_ != nullptr) cache_->truncate(0);
}

Index CachedSubject::token_bytes(const CacheWay& way) const {
  return layers() * (kv_row_bytes<float>(way.types.keys, kv_heads(), head_dim()) +
                     kv_row_bytes<float>(way.types.values, kv_heads(), head_dim()));
}

double CachedSubject::attention_flops(Index past, Index count) const {
  return 4.0 * static_cast<double>(layers() * heads() * head_dim()) *
         static_cast<double>(keys_seen(past + 1, past + count, window()));
}

}  // namespace attn
