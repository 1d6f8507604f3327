#include "sizing/cache_spec.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

template <class Wanted>
bool any_rows(const CacheSpec& spec, Wanted wanted) {
  for (const LayerRun& run : spec.layers) {
    if (std::any_of(run.layer.rows.begin(), run.layer.rows.end(), wanted)) return true;
  }
  return false;
}

LayerCache heads_layer(const char* kind, CacheRows::Span span, Index limit, Index kv_heads,
                       Index key_dim, Index value_dim) {
  return {.kind = kind,
          .rows = {{.span = span,
                    .limit = limit,
                    .kv_heads = kv_heads,
                    .key_dim = key_dim,
                    .value_dim = value_dim}}};
}

std::string layer_text(const LayerCache& layer) {
  std::string text;
  for (const CacheRows& rows : layer.rows) {
    text += fmt::format("{}{}", text.empty() ? "" : " and ", rows_text(rows));
  }
  if (!layer.state.empty()) {
    text += fmt::format("{}{} state", text.empty() ? "" : " and ", layer.state.kind);
  }
  return text.empty() ? fmt::format("nothing ({})", layer.kind) : text;
}

}  // namespace

void CacheSpec::add(const LayerCache& layer, Index count) {
  if (count < 1) return;
  if (!layers.empty() && layers.back().layer == layer) {
    layers.back().count += count;
  } else {
    layers.push_back({count, layer});
  }
}

Index CacheSpec::layer_count() const {
  Index count = 0;
  for (const LayerRun& run : layers) count += run.count;
  return count;
}

Index CacheSpec::caching_layers() const {
  Index count = 0;
  for (const LayerRun& run : layers) count += run.layer.rows.empty() ? 0 : run.count;
  return count;
}

bool CacheSpec::has(CacheRows::Span span) const {
  return any_rows(*this, [&](const CacheRows& rows) { return rows.span == span; });
}

bool CacheSpec::has(CacheRows::Form form) const {
  return any_rows(*this, [&](const CacheRows& rows) { return rows.form == form; });
}

bool CacheSpec::has_state() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const LayerRun& run) { return !run.layer.state.empty(); });
}

CacheSpec uniform_spec(Index layers, Index kv_heads, Index head_dim) {
  CacheSpec spec;
  spec.add(full_layer(kv_heads, head_dim, head_dim), layers);
  return spec;
}

LayerCache full_layer(Index kv_heads, Index key_dim, Index value_dim) {
  return heads_layer("full", CacheRows::Span::kAll, 0, kv_heads, key_dim, value_dim);
}

LayerCache window_layer(Index kv_heads, Index key_dim, Index value_dim, Index window) {
  return heads_layer("window", CacheRows::Span::kWindow, window, kv_heads, key_dim, value_dim);
}

LayerCache chunk_layer(Index kv_heads, Index key_dim, Index value_dim, Index chunk) {
  return heads_layer("chunk", CacheRows::Span::kChunk, chunk, kv_heads, key_dim, value_dim);
}

CacheSpec expanded_latent(CacheSpec spec) {
  for (LayerRun& run : spec.layers) {
    for (CacheRows& rows : run.layer.rows) {
      if (rows.form != CacheRows::Form::kLatent) continue;
      if (rows.expanded_heads == 0 || rows.expanded_key == 0 || rows.expanded_value == 0) {
        throw UsageError(
            fmt::format("expanded keys and values: {} does not give qk_nope_head_dim, v_head_dim "
                        "and num_attention_heads",
                        spec.model.empty() ? "the configuration" : spec.model));
      }
      rows.form = CacheRows::Form::kHeads;
      rows.kv_heads = rows.expanded_heads;
      rows.key_dim = rows.expanded_key;
      rows.value_dim = rows.expanded_value;
    }
  }
  return spec;
}

std::string rows_text(const CacheRows& rows) {
  std::string text;
  switch (rows.form) {
    case CacheRows::Form::kLatent:
      text = fmt::format("one latent row of {}", rows.key_dim);
      break;
    case CacheRows::Form::kIndexer:
      text = fmt::format("an indexer row of {}", rows.key_dim);
      break;
    case CacheRows::Form::kHeads:
      text = fmt::format("{} kv {} x {}", rows.kv_heads, rows.kv_heads == 1 ? "head" : "heads",
                         rows.key_dim);
      if (rows.value_dim != rows.key_dim) text += fmt::format(" (values {})", rows.value_dim);
  }
  switch (rows.span) {
    case CacheRows::Span::kAll:
      break;
    case CacheRows::Span::kWindow:
      text += fmt::format(", last {} tokens", grouped(rows.limit));
      break;
    case CacheRows::Span::kChunk:
      text += fmt::format(", chunks of {} tokens", grouped(rows.limit));
      break;
    case CacheRows::Span::kEncoder:
      text += rows.limit > 0 ? fmt::format(" for {} encoder positions", grouped(rows.limit))
                             : " for each encoder token";
      break;
    case CacheRows::Span::kCompressed:
      text += fmt::format(" for every {} tokens", grouped(rows.limit));
      break;
  }
  return text;
}

std::vector<std::string> layer_summary(const CacheSpec& spec) {
  std::vector<LayerRun> kinds;
  for (const LayerRun& run : spec.layers) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const LayerRun& kind) {
      return layer_text(kind.layer) == layer_text(run.layer);
    });
    if (same == kinds.end()) {
      kinds.push_back(run);
    } else {
      same->count += run.count;
    }
  }
  std::vector<std::string> lines;
  lines.reserve(kinds.size());
  for (const LayerRun& kind : kinds) {
    lines.push_back(fmt::format("{} {} of {}", kind.count, kind.count == 1 ? "layer" : "layers",
                                layer_text(kind.layer)));
  }
  return lines;
}

}  // namespace attn
