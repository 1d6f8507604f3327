#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"
#include "sizing/cache_spec.h"
#include "sizing/wide.h"

namespace attn {

/// How cached numbers are stored. Block types hold a scale beside a block of small integers, so
/// what they store is whole blocks or nothing.
struct CacheType {
  std::string name;          ///< as printed: "f16", "q8_0", "kivi4:64:128"
  Index block_values = 1;    ///< numbers in a block; 1 for plain types
  Index block_bytes = 2;     ///< bytes of a block, scales included
  Index head_bytes = 0;      ///< bytes beside each token's key (or value) of each head
  bool by_row = false;       ///< a block may reach over heads, within one token
  Index residual = 0;        ///< the last tokens, which stay f16
  bool latent_only = false;  ///< a layout of latent rows: fp8_ds_mla
};

/// By any of its usual names (f16 = fp16 = float16 = half, fp8 = fp8_e4m3 ...); kivi2 and kivi4
/// take a group and a residual: kivi4:64:128. Throws UsageError that names `option` and the nearest
/// known name.
CacheType cache_type(std::string_view name, std::string_view option);

/// All of them, for the help.
std::vector<std::string> cache_type_names();

/// Bytes (or a number beyond 63 bits where they are more) of `entries` keys (or values: `dim` is
/// the width of one) of `heads` heads. Throws UsageError where a block does not divide what it
/// must, and where the type is a layout of other rows.
Wide stored_bytes(const CacheType& type, const CacheRows& rows, Index heads, Index dim,
                  Index entries, Index sequences);

}  // namespace attn
