#pragma once

#include <string>

#include "kvcache-size/options.h"
#include "sizing/cache_spec.h"

namespace attn {

/// Bytes of a model's weights, and how they were found.
struct Weights {
  Index bytes = 0;
  Index parameters = 0;  ///< 0 where only bytes are known
  Index active = 0;      ///< parameters that work on one token; 0 where not known
  double bytes_each = 0.0;
  std::string text = "";  ///< "14.96 GiB of weights (8,030,261,248 parameters in bf16)"
};

/// As --weights says: a size, a safetensors index, `auto` (counted from the configuration), or
/// none. UsageError where the configuration is too little to count.
Weights weights_of(const SizeOptions& options, const CacheSpec& spec);

}  // namespace attn
