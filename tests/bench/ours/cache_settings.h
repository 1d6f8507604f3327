#pragma once

#include <string>

#include "nn/kv_pool.h"
#include "workload.h"

namespace attn {

/// Where keys and values of earlier tokens are.
struct CacheSettings {
  bool cached = true;
  KvLayout layout;
  /// Pages are taken in turn by two sequences, so that no two neighbours in time are neighbours in
  /// memory.
  bool scattered = false;
};

/// Reads cache=contiguous, paged or none, page_size, scattered, k_type and v_type.
CacheSettings cache_settings(Settings& settings);

}  // namespace attn
