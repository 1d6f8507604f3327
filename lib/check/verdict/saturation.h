#pragma once

#include <cstdint>
#include <vector>

#include "core/index.h"

namespace attn {

/// Softmax over the scores of standard normal queries and keys, on average over rows.
struct SoftmaxSpread {
  double score_variance = 0;
  double entropy = 0;   // in nats; ln(keys) where weights are even, 0 where one key has it all
  double largest = 0;   // weight of the row
  double gradient = 0;  // 1 - sum of squared weights: trace of the softmax's derivative
};

/// The same with and without the factor 1/sqrt(head_dim) (Vaswani et al. 2017, footnote 4: the
/// variance of q.k is head_dim).
struct Saturation {
  Index head_dim = 0;
  SoftmaxSpread scaled;
  SoftmaxSpread unscaled;
};

/// For each head_dim 256 queries over `keys` keys, drawn from the seed.
std::vector<Saturation> saturation(const std::vector<Index>& head_dims, Index keys,
                                   std::uint64_t seed, int threads);

/// - sum of w ln w over the weights that are not 0.
double entropy_of(const double* weights, Index count);

}  // namespace attn
