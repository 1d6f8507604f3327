#pragma once

#include "ops/attend_block.h"

// The vector kernels of attention. A tile is some query rows against some keys of one key-value
// head; its scores lie in scratch, whose row stride is a multiple of 16 so that kernels may write
// whole vectors.

namespace attn {

/// s = q * k^T for tiles that are small (is_small): s (q.rows, k.rows).
template <class T>
void small_products(In<T> q, In<T> k, Matrix<T> s);

/// Weights that pick from rows: of result row r for source row j, at data[r * step + j * key_step].
template <class T>
struct MixWeights {
  const T* data = nullptr;
  Index row_step = 0;
  Index key_step = 1;
};

/// out[r] += sum over j of weights(r, j) * x[j], j in ranges[r] less key0 (all where ranges is
/// null), for small tiles, or where x may hold non-finite rows: with skip_zeros a weight of 0
/// leaves its row of x out instead of multiplying it.
template <class T>
void small_mix(const MixWeights<std::type_identity_t<T>>& weights, In<T> x, const KeyRange* ranges,
               Index key0, bool skip_zeros, Matrix<T> out);

/// What the rows of a block have come to so far: running maximum and sum (Milakov & Gimelshein
/// 2018, algorithm 3), and the factor by which the last tile shrank what was there before.
template <class T>
struct RunningSoftmax {
  T* largest = nullptr;
  T* total = nullptr;
  T* factor = nullptr;
  bool* seen = nullptr;
};

/// Where final scores are kept for a probe: (heads, q_len, kv_rows), or null.
template <class T>
struct KeptScores {
  T* data = nullptr;
  Index q_len = 0;
  Index kv_rows = 0;
};

/// Products become weights in units of exp(largest), hidden keys 0; the running maximum, sum and
/// factor of each row follow. Key 0 of the tile is key0 of the sequence.
template <class T>
void softmax_tile(const AttendMask<T>& mask, std::type_identity_t<T> scale, const RowBlock& block,
                  const KeyRange* visible, Index key0, Matrix<T> s, const RunningSoftmax<T>& state,
                  const KeptScores<T>& kept);

/// x[r] *= factors[r] for the rows whose factor is not 1.
template <class T>
void scale_each_row(const T* factors, Matrix<T> x);

/// weights[j] = exp(scores[j] - lse); 0 everywhere where lse is minus infinity.
template <class T>
void weights_of_scores(const T* scores, Index count, std::type_identity_t<T> lse, T* weights);

/// What backward makes of a tile: products s become weights exp(score - lse) and d_weights become
/// gradients by the products: weight * (d_weight - common) * scale * (1 - tanh^2), hidden keys 0.
/// lse and common are per row of the block.
template <class T>
void softmax_backward_tile(const AttendMask<T>& mask, std::type_identity_t<T> scale,
                           const RowBlock& block, const KeyRange* visible, Index key0, Matrix<T> s,
                           Matrix<T> d_weights, const T* lse, const T* common);

/// dots[r] = sum of a[r] * b[r].
template <class T>
void row_dots(In<T> a, In<T> b, T* dots);

/// True where no element is infinite or NaN.
template <class T>
bool all_finite(Matrix<const T> x);

}  // namespace attn
