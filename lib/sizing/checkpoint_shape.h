#pragma once

#include "io/hdf5_reader.h"
#include "sizing/cache_spec.h"

namespace attn {

/// What a decoder caches, from the root attributes of its checkpoint: depth, kv_heads and head_dim.
/// Throws DataError where one is missing or the architecture is another.
CacheSpec checkpoint_shape(const Hdf5Reader& file);

}  // namespace attn
