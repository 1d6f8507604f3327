#pragma once

#include <cstdint>

#include "core/index.h"

namespace attn {

/// What a layer of `heads` heads costs and can express, over random tokens and projections. Counts
/// are of a whole layer without biases; ranks are computed, not assumed.
struct HeadsReport {
  Index heads = 0;
  Index head_dim = 0;
  Index parameters = 0;    // W_q, W_k, W_v, W_o: 4 width^2
  Index flops = 0;         // 2 for each multiplication and addition of projections, scores and mix
  Index exponentials = 0;  // one for each weight: heads * tokens^2
  Index score_rank = 0;    // of W_q W_k^T of one head: at most head_dim
  Index map_rank = 0;      // of one head's scores over the tokens: at most head_dim
  Index value_rank = 0;    // of W_v W_o of one head: at most head_dim
  Index mixtures = 0;      // independent maps of weights among the heads: at most heads
};

/// width must be divisible by heads; both are at most 1024.
HeadsReport measure_heads(Index heads, Index width, Index tokens, std::uint64_t seed, int threads);

}  // namespace attn
