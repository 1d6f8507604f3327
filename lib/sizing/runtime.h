#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"
#include "sizing/cache_spec.h"

namespace attn {

/// Who allocates the cache, and by which settings. The numbers are each engine's own defaults.
struct Runtime {
  enum class Kind {
    kIdeal,         ///< the rows that attention can still see, to the row
    kVllm,          ///< pages of block_size tokens (vllm v1/kv_cache_interface.py@001cabc)
    kLlamaCpp,      ///< cells padded to 256 (llama.cpp src/llama-kv-cache*.cpp)
    kTransformers,  ///< DynamicCache (transformers cache_utils.py@004999d)
    kStatic,        ///< StaticCache of the same file
  };
  Kind kind = Kind::kIdeal;
  Index block_size = 16;        ///< vllm: tokens of a page
  Index batched_tokens = 8192;  ///< vllm: --max-num-batched-tokens, what one step may add
  bool hybrid_manager = true;   ///< vllm: without it, windows cost the whole length
  Index ubatch = 512;           ///< llama.cpp: -ub, what one step may add
  bool swa_full = false;        ///< llama.cpp: --swa-full, windows cost the whole length
  bool unified = false;         ///< llama.cpp: one buffer for all sequences
};

std::vector<std::string> runtime_names();
std::string runtime_name(Runtime::Kind kind);
/// The kind of that name; ShapeError for a name that is not among runtime_names().
Runtime::Kind runtime_kind(std::string_view name);

/// What a question asks of each sequence.
struct Lengths {
  Index tokens = 1;
  Index encoder_tokens = 0;
  Index sequences = 1;
};

/// Rows that one layer's `rows` take for all sequences. UsageError where encoder tokens are not
/// given and are needed.
Index allocated_entries(const Runtime& runtime, const CacheSpec& spec, const CacheRows& rows,
                        const Lengths& lengths);

/// The runtime with what the model forces on it: vllm raises the block until a page of attention is
/// at least a page of state. `token_bytes` is the largest attention layer's, for one token.
Runtime adjusted(const Runtime& runtime, Index token_bytes, Index state_page);

/// Why the runtime's figure is not the ideal one, a sentence for each reason that applies.
std::vector<std::string> runtime_reasons(const Runtime& runtime, const CacheSpec& spec);

/// Refuses what the runtime does not do (UsageError): cross-attention in llama.cpp.
void check_runtime(const Runtime& runtime, const CacheSpec& spec);

}  // namespace attn
