#pragma once

#include "core/index.h"
#include "sizing/cache_spec.h"
#include "sizing/cache_type.h"

namespace attn {

/// Bytes of one cache, keys and values apart.
struct KvBytes {
  Index keys = 0;
  Index values = 0;
  Index total = 0;
};

/// Bytes that cached keys and values of `batch` sequences of `tokens` tokens occupy:
///   sum over layers of entries(layer, tokens) * kv_heads * (key_dim + value_dim) * bytes * batch
/// For equal layers that is 2 * layers * kv_heads * head_dim * tokens * batch * bytes per value.
/// Throws UsageError where tokens or batch is below 1, where a block type does not divide a head,
/// and where the sum leaves 63 bits. Shazeer 2019 (arXiv:1911.02150) for why this, not
/// arithmetic, limits decoding.
KvBytes kv_bytes(const CacheSpec& spec, Index tokens, Index batch, const CacheType& type);

}  // namespace attn
