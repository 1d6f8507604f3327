#pragma once

#include "ops/attend_block.h"

// The vector kernels of attention. A tile is some query rows against some keys of one key-value
// head; its scores lie in scratch, whose row stride is a multiple of 16 so that kernels may write
// whole vectors.

namespace attn {

/// turned (x.cols, at least x.rows) = x transposed; further columns become 0.
template <class T>
void turn(In<T> x, Matrix<T> turned);

/// A matrix that is read element by element: (r, k) at data[r * row_step + k * k_step].
template <class T>
struct Walk {
  const T* data = nullptr;
  Index row_step = 0;
  Index k_step = 1;
};

/// Which parts of a product are wanted; null for all. Ranges are those of rows_of / in_tile for
/// the row, so that a masked half costs nothing.
struct ProductRanges {
  const KeyRange* k = nullptr;        // (c.rows) a row's sum runs over these k
  const KeyRange* columns = nullptr;  // (c.rows) these columns of a row must come out right
};

/// c (+)= a * b, with a (c.rows, b.rows) walked and rows of b read as vectors. The elements of a
/// outside a row's range of k must be 0, for neighbouring rows may share a sum.
template <class T>
void multiply(const Walk<std::type_identity_t<T>>& a, In<T> b, const ProductRanges& ranges,
              bool add, Matrix<T> c);

/// out[r] += sum over k of weights(r, k) * x[k], leaving out the rows of x whose weight is 0
/// instead of multiplying them: they may hold NaN.
template <class T>
void mix_seen(const Walk<std::type_identity_t<T>>& weights, In<T> x, Matrix<T> out);

/// What the rows of a block have come to so far: running maximum and sum (Milakov & Gimelshein
/// 2018, algorithm 3), and the factor by which the last tile shrank what was there before.
template <class T>
struct RunningSoftmax {
  T* largest = nullptr;
  T* total = nullptr;
  T* factor = nullptr;
  bool* seen = nullptr;

  RunningSoftmax from(Index r) const { return {largest + r, total + r, factor + r, seen + r}; }
};

/// Where final scores are kept for a probe: (heads, q_len, kv_rows), or null.
template <class T>
struct KeptScores {
  T* data = nullptr;
  Index q_len = 0;
  Index kv_rows = 0;
};

/// Products become weights in units of exp(largest), hidden keys 0; the running maximum, sum and
/// factor of each row follow. `ranges` are what the rows see of the tile, whose first key is key0.
template <class T>
void softmax_tile(const AttendMask<T>& mask, std::type_identity_t<T> scale, const RowBlock& block,
                  const KeyRange* ranges, Index key0, Matrix<T> s, const RunningSoftmax<T>& state,
                  const KeptScores<T>& kept);

/// Dropout of a tile of weights, or of their gradients: x becomes 0 or x / (1 - rate) in what the
/// rows see of the tile.
template <class T>
void drop_tile(const DropoutMask& mask, const RowBlock& block, const KeyRange* ranges, Index key0,
               Matrix<T> x);

/// x[r] *= factors[r] for the rows whose factor is not 1.
template <class T>
void scale_each_row(const T* factors, Matrix<T> x);

/// weights[j] = exp(scores[j] - lse); 0 everywhere where lse is minus infinity.
template <class T>
void weights_of_scores(const T* scores, Index count, std::type_identity_t<T> lse, T* weights);

/// What backward makes of a tile: products s become weights exp(score - lse) and d_weights become
/// gradients by the products: weight * (d_weight - common) * scale * (1 - tanh^2), hidden keys 0.
/// lse and common are per row of the block; slopes is scratch for one row.
template <class T>
void softmax_backward_tile(const AttendMask<T>& mask, std::type_identity_t<T> scale,
                           const RowBlock& block, const KeyRange* ranges, Index key0, Matrix<T> s,
                           Matrix<T> d_weights, T* slopes, const T* lse, const T* common);

/// dots[r] = sum of a[r] * b[r].
template <class T>
void row_dots(In<T> a, In<T> b, T* dots);

/// True where no element is infinite or NaN.
template <class T>
bool all_finite(Matrix<const T> x);

}  // namespace attn
