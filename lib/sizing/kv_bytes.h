#pragma once

#include <vector>

#include "core/index.h"
#include "sizing/cache_spec.h"
#include "sizing/cache_type.h"
#include "sizing/runtime.h"

namespace attn {

/// What is asked about a model's cache.
struct CacheQuestion {
  Lengths lengths;
  CacheType key_type;
  CacheType value_type;
  Index tensor_parallel = 1;  ///< ranks that share the heads
  Runtime runtime;
};

/// Bytes of one cache, keys and values apart, all ranks together. A latent row and an indexer row
/// count as keys. The state of recurrent layers is not part of the total.
struct KvBytes {
  Index keys = 0;
  Index values = 0;
  Index total = 0;
  Index indexer = 0;  ///< of the keys: indexer rows
  Index cross = 0;    ///< of the total: rows of the encoder
  Index state = 0;    ///< beside the total
  Index rank = 0;     ///< of total: what one rank holds (the largest)
  Index rank_state = 0;
};

/// Bytes that cached keys and values occupy:
///   sum over layers and their rows of entries * kv_heads * (key_dim + value_dim) * bytes * batch
/// where entries are all tokens, the last `window`, those of a chunk, or the encoder's. For equal
/// layers that is 2 * layers * kv_heads * head_dim * tokens * batch * bytes per value. The
/// arithmetic has 128 bits. Throws UsageError where a count is below 1, where a block type does not
/// divide a row, where heads cannot be shared out among the ranks, where encoder tokens are missing
/// and where the sum leaves 63 bits. Shazeer 2019 (arXiv:1911.02150) for why this, not arithmetic,
/// limits decoding.
KvBytes kv_bytes(const CacheSpec& spec, const CacheQuestion& question);
/// One type for keys and values, one rank, nothing rounded.
KvBytes kv_bytes(const CacheSpec& spec, Index tokens, Index batch, const CacheType& type);

/// The bytes of one layer, for a table of layers.
KvBytes layer_bytes(const CacheSpec& spec, const LayerCache& layer, const CacheQuestion& question);

/// Rows that one layer's `rows` take for all sequences, by the question's runtime.
Index held_entries(const CacheSpec& spec, const CacheRows& rows, const CacheQuestion& question);

/// Key-value heads that one of `ranks` holds: a share, or a whole one where there are fewer heads
/// than ranks. UsageError where neither divides the other.
Index heads_per_rank(Index kv_heads, Index ranks);

}  // namespace attn
