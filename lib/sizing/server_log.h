#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"
#include "sizing/cache_spec.h"
#include "sizing/size_grid.h"

namespace attn {

/// A line by which an engine says at start-up what its cache takes.
struct LogFigure {
  enum class Engine { kVllm, kSglang, kLlamaCpp };
  Engine engine = Engine::kVllm;
  Index line = 0;             ///< from 1
  std::string text = "";      ///< what the line says, cut
  Index tokens = 0;           ///< tokens (cells) it holds; 0 where it does not say
  Index layers = 0;           ///< layers it speaks for; 0: all that own rows
  double bytes = 0.0;         ///< keys and values together; 0 where it does not say
  double step = 0.0;          ///< the last digit printed, in bytes
  double concurrency = 0.0;   ///< sequences of `tokens`; 0 where it does not say
  std::string key_type = "";  ///< as the log spells it; empty where it does not say
  std::string value_type = "";
};

/// The cache lines of vLLM ("GPU KV cache size: N tokens", "Available KV cache memory: X GiB",
/// "Maximum concurrency for N tokens per request: Cx"), SGLang ("KV Cache is allocated. #tokens: N,
/// K size: X GB, V size: Y GB") and llama.cpp ("size = X MiB (N cells, L layers, ...), K (f16):
/// ..., V (f16): ..."), in order.
std::vector<LogFigure> log_figures(std::string_view log);

/// A figure with ours beside it.
struct LogVerdict {
  LogFigure figure;
  bool compared = false;  ///< false where the line gives nothing to compare
  bool agrees = false;    ///< to the rounding of what is printed
  double ours = 0.0;      ///< bytes
  std::string note = "";  ///< what the log counts otherwise
};

/// `types` are used where the log does not name types; `ranks` share the heads.
std::vector<LogVerdict> compared_with_log(const CacheSpec& spec,
                                          const std::vector<LogFigure>& figures,
                                          const TypePair& types, Index ranks);

}  // namespace attn
