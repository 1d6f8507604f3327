#include "sizing/runtime.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/ceil_div.h"
#include "core/error.h"
#include "core/text.h"
#include "sizing/wide.h"

namespace attn {
namespace {

using Kind = Runtime::Kind;
using Span = CacheRows::Span;

constexpr std::array kNames = {
    std::pair{"ideal", Kind::kIdeal},
    std::pair{"vllm", Kind::kVllm},
    std::pair{"llama.cpp", Kind::kLlamaCpp},
    std::pair{"transformers", Kind::kTransformers},
    std::pair{"transformers-static", Kind::kStatic},
};

[[noreturn]] void refuse_large() {
  throw UsageError("too large: more than 2^63 rows in a layer");
}

Index times(Index a, Index b) {
  const auto product = checked_mul(a, b);
  if (!product) refuse_large();
  return *product;
}

Index plus(Index a, Index b) {
  const auto sum = checked_add(a, b);
  if (!sum) refuse_large();
  return *sum;
}

Index padded(Index entries, Index block) {
  return times(ceil_div(entries, block), block);
}

Index encoder_entries(const CacheRows& rows, const Lengths& lengths) {
  if (lengths.encoder_tokens > 0) return lengths.encoder_tokens;
  if (rows.limit > 0) return rows.limit;
  throw UsageError(
      "--encoder-tokens is missing: the model has cross-attention layers, which keep keys and "
      "values of the other sequence (of an image: --images and --tokens-per-image)");
}

Index ideal_entries(const CacheRows& rows, const Lengths& lengths) {
  switch (rows.span) {
    case Span::kAll:
      return lengths.tokens;
    case Span::kWindow:
    case Span::kChunk:
      return std::min(lengths.tokens, rows.limit);
    case Span::kEncoder:
      return encoder_entries(rows, lengths);
    case Span::kCompressed:
      return lengths.tokens / rows.limit;
  }
  return 0;
}

Index vllm_entries(const Runtime& runtime, const CacheRows& rows, const Lengths& lengths) {
  const Index block = runtime.block_size;
  const bool bounded = rows.span == Span::kWindow || rows.span == Span::kChunk;
  if (!bounded) return padded(ideal_entries(rows, lengths), block);
  // A window that the sequence never leaves is no window.
  if (!runtime.hybrid_manager || rows.limit >= lengths.tokens) {
    return padded(lengths.tokens, block);
  }
  if (rows.span == Span::kChunk) {
    return padded(std::min(plus(rows.limit, runtime.batched_tokens), lengths.tokens), block);
  }
  const Index seen = std::min(plus(rows.limit - 1, runtime.batched_tokens), lengths.tokens);
  return times(plus(ceil_div(seen, block), 1), block);
}

// All sequences together: one buffer where it is unified, else one each.
Index llama_cells(const Runtime& runtime, const CacheSpec& spec, const CacheRows& rows,
                  const Lengths& lengths) {
  constexpr Index kPad = 256;
  const Index buffers = runtime.unified ? 1 : lengths.sequences;
  const Index inside = runtime.unified ? lengths.sequences : 1;
  const Index context = padded(times(lengths.tokens, inside), kPad);
  const bool bounded = rows.span == Span::kWindow || rows.span == Span::kChunk;
  const bool ignored = spec.family.starts_with("phi3");  // llama.cpp#13676
  if (!bounded || runtime.swa_full || ignored) return times(context, buffers);
  const Index seen = plus(times(rows.limit, inside), runtime.ubatch);
  return times(padded(std::min(context, seen), kPad), buffers);
}

}  // namespace

std::vector<std::string> runtime_names() {
  std::vector<std::string> names;
  names.reserve(kNames.size());
  for (const auto& name : kNames) names.emplace_back(name.first);
  return names;
}

std::string runtime_name(Runtime::Kind kind) {
  for (const auto& name : kNames) {
    if (name.second == kind) return name.first;
  }
  return "";
}

Runtime::Kind runtime_kind(std::string_view wanted) {
  for (const auto& name : kNames) {
    if (name.first == wanted) return name.second;
  }
  throw ShapeError(fmt::format("no runtime is called '{}'", wanted));
}

Index allocated_entries(const Runtime& runtime, const CacheSpec& spec, const CacheRows& rows,
                        const Lengths& lengths) {
  switch (runtime.kind) {
    case Kind::kVllm:
      return times(vllm_entries(runtime, rows, lengths), lengths.sequences);
    case Kind::kLlamaCpp:
      return llama_cells(runtime, spec, rows, lengths);
    case Kind::kTransformers: {
      // Between steps a window keeps one token less than it sees.
      const Index entries = ideal_entries(rows, lengths);
      const bool bounded = rows.span == Span::kWindow || rows.span == Span::kChunk;
      return times(bounded ? std::min(lengths.tokens, std::max<Index>(rows.limit - 1, 0)) : entries,
                   lengths.sequences);
    }
    default:
      return times(ideal_entries(rows, lengths), lengths.sequences);
  }
}

Runtime adjusted(const Runtime& runtime, Index token_bytes, Index state_page) {
  Runtime result = runtime;
  if (runtime.kind != Kind::kVllm || state_page == 0 || token_bytes == 0) return result;
  const Index needed = ceil_div(state_page, token_bytes);
  if (needed > result.block_size) result.block_size = padded(needed, result.block_size);
  return result;
}

std::vector<std::string> runtime_reasons(const Runtime& runtime, const CacheSpec& spec) {
  std::vector<std::string> reasons;
  const bool windows = spec.has(Span::kWindow) || spec.has(Span::kChunk);
  switch (runtime.kind) {
    case Kind::kVllm:
      reasons.push_back(fmt::format("rows come in pages of {} tokens", runtime.block_size));
      if (windows && runtime.hybrid_manager) {
        reasons.push_back(fmt::format("windows hold a step of up to {} tokens more, and a page",
                                      grouped(runtime.batched_tokens)));
      } else if (windows) {
        reasons.emplace_back("without the hybrid manager windows cost the whole length");
      }
      if (spec.has_state())
        reasons.emplace_back("a page is raised until it holds a state, which is padded to it");
      break;
    case Kind::kLlamaCpp:
      reasons.emplace_back("cells are padded to 256");
      if (windows && spec.family.starts_with("phi3")) {
        reasons.emplace_back("the window of phi3 is ignored");
      } else if (windows) {
        reasons.push_back(runtime.swa_full ? "--swa-full: windows cost the whole length"
                                           : fmt::format("windows hold a step of {} tokens more",
                                                         grouped(runtime.ubatch)));
      }
      if (spec.has(CacheRows::Form::kIndexer)) reasons.emplace_back("indexer rows are not kept");
      break;
    case Kind::kTransformers:
      if (windows) reasons.emplace_back("between steps a window keeps one token less");
      break;
    default:
      break;
  }
  return reasons;
}

void check_runtime(const Runtime& runtime, const CacheSpec& spec) {
  if (runtime.kind == Kind::kLlamaCpp && spec.has(Span::kEncoder)) {
    throw UsageError("--runtime llama.cpp: what it keeps of cross-attention is not modelled here");
  }
}

}  // namespace attn
