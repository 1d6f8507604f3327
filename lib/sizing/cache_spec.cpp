#include "sizing/cache_spec.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace attn {

void CacheSpec::add(const LayerCache& layer, Index count) {
  if (!layers.empty() && layers.back().layer == layer) {
    layers.back().count += count;
  } else if (count > 0) {
    layers.push_back({count, layer});
  }
}

Index CacheSpec::layer_count() const {
  Index count = 0;
  for (const LayerRun& run : layers) count += run.count;
  return count;
}

CacheSpec uniform_spec(Index layers, Index kv_heads, Index head_dim) {
  CacheSpec spec;
  spec.add({.kv_heads = kv_heads, .key_dim = head_dim, .value_dim = head_dim}, layers);
  return spec;
}

std::vector<std::string> layer_summary(const CacheSpec& spec) {
  std::vector<LayerRun> kinds;
  for (const LayerRun& run : spec.layers) {
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const LayerRun& kind) { return kind.layer == run.layer; });
    if (same == kinds.end()) {
      kinds.push_back(run);
    } else {
      same->count += run.count;
    }
  }
  std::vector<std::string> lines;
  for (const LayerRun& kind : kinds) {
    const LayerCache& layer = kind.layer;
    std::string line =
        fmt::format("{} {} of {} kv {} x {}", kind.count, kind.count == 1 ? "layer" : "layers",
                    layer.kv_heads, layer.kv_heads == 1 ? "head" : "heads", layer.key_dim);
    if (layer.value_dim == 0) {
      line += " (one latent row for keys and values)";
    } else if (layer.value_dim != layer.key_dim) {
      line += fmt::format(" (values {})", layer.value_dim);
    }
    if (layer.keeps == LayerCache::Keeps::kLastTokens) {
      line += fmt::format(", last {} tokens", grouped(layer.window));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace attn
