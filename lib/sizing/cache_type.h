#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// How one cached number is stored. Block types (those of ggml) hold a scale beside a block of
/// small integers, so a row of them is whole blocks or nothing.
struct CacheType {
  std::string name;    ///< as printed: "f16", "q8_0"
  Index block_values;  ///< numbers in a block; 1 for plain types
  Index block_bytes;   ///< bytes of a block, scales included
};

/// By any of its usual names (f16 = fp16 = float16 = half, fp8 = fp8_e4m3 ...). Throws UsageError
/// that names `option` and the nearest known name.
const CacheType& cache_type(std::string_view name, std::string_view option);

/// All of them, for the help.
std::vector<std::string> cache_type_names();

}  // namespace attn
