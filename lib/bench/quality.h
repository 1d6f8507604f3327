#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/kv_types.h"
#include "model/transformer.h"

namespace attn {

/// What a decoder that reads its keys and values from such a cache makes of a text, beside the same
/// decoder with an f32 cache. Its divergence at a position is KL(f32 || this), the sum over tokens
/// of p_f32 ln(p_f32 / p), in nats: what users notice, where the error of a stored number misleads.
struct QualityRow {
  KvTypes types;
  Index bytes_per_token = 0;  // of all layers
  double loss = 0;            // mean -ln p of the tokens that follow, in nats
  double mean_divergence = 0;
  double high_divergence = 0;  // 99 of 100 positions have less
  double largest_divergence = 0;
  double same_top = 1;  // share of positions with the same likeliest token
  /// Mean divergence where this layer alone stores so and the others f32.
  std::vector<double> layer_divergence;

  double perplexity() const;
  /// The layer whose own divergence is largest, the first of equals; nothing where none diverges.
  std::optional<Index> worst_layer() const;
};

struct Quality {
  Index targets = 0;  // tokens foretold
  Index window = 0;   // tokens read together
  Index windows = 0;
  std::vector<QualityRow> rows;  // the first is f32/f32
};

/// Reads a text in windows, as score_tokens() does, with a cache of each pair of types (f32/f32
/// comes first, asked for or not), some tokens at a time, so that every token attends to stored
/// keys and values, its own among them, as in decoding. Each layer alone is measured too. The
/// result is the same for any number of threads. Throws as score_tokens(), and UsageError for types
/// whose blocks do not divide a head. progress(done, all) may be empty.
Quality measure_quality(const Transformer<float>& model, std::span<const Index> ids, Index window,
                        const std::vector<KvTypes>& pairs, int threads,
                        const std::function<void(Index, Index)>& progress);

}  // namespace attn
