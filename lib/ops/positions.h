#pragma once

#include <vector>

#include "core/matrix.h"
#include "ops/rope_scaling.h"

namespace attn {

/// Sinusoidal table: entry (p, 2i) is sin(p / base^(2i/dim)) and (p, 2i+1) the matching cosine
/// (Vaswani et al. 2017, arXiv:1706.03762, section 3.5), p = first + row. An odd dim ends with a
/// sine. Phases are computed in double. table (length, dim).
template <class T>
void sinusoidal_positions(double base, Index first, Matrix<T> table);

/// Where sines and cosines of a table stand, and how fast its pairs turn.
struct SinusoidalForm {
  bool concatenated = false;  ///< all sines, then all cosines; otherwise in turn
  bool tensor2tensor =
      false;  ///< exponents i / (half - 1), half = dim / 2 rounded down, so that
              ///< the last is 1 / base; an odd dim ends with a 0. Otherwise 2i / dim
};

/// How far each pair turns from one position to the next: (dim / 2, rounded up; down in
/// tensor2tensor's form).
std::vector<double> sinusoidal_frequencies(Index dim, double base, bool tensor2tensor);

/// One row of a table, of any position: dim values.
void sinusoidal_row(const std::vector<double>& frequencies, const SinusoidalForm& form,
                    double position, Matrix<double> row);

/// Which features a rotation pairs: (2i, 2i+1), as the paper; or (i, i + rotary_dim/2), as
/// GPT-NeoX.
enum class RopePairs { kInterleaved, kHalves };

/// Angles a position turns: cos and sin of p * inv_freq[i] for rows p = first ..., columns i <
/// rotary_dim / 2, computed in double (Su et al. 2021, arXiv:2104.09864, eq. 15).
template <class T>
struct RopeTable {
  Index first = 0;
  Index half = 0;           // pairs of a head that turn: rotary_dim / 2
  std::vector<T> cos, sin;  // (positions, half), the attention factor included

  /// Throws ShapeError for an odd head_dim.
  RopeTable(Index head_dim, double base, Index first_position, Index positions);
  /// The same for frequencies of any scaling.
  RopeTable(const RopeFrequencies& frequencies, Index first_position, Index positions);
  RopeTable() = default;
};

/// Turns each pair (a, b) of each head of x (rows, heads * head_dim), in place, to
/// (a cos - b sin, a sin + b cos); row r stands at position pos0 + r, which the table must hold.
/// Where the table turns fewer than head_dim features, those behind them stay as they are.
template <class T>
void rope_rotate(const RopeTable<T>& table, RopePairs pairs, Index head_dim, Index pos0,
                 Matrix<T> x);

/// The turn backwards, the transpose of the forward one: what backward does to a gradient. Its
/// inverse too where there is no attention factor.
template <class T>
void rope_rotate_back(const RopeTable<T>& table, RopePairs pairs, Index head_dim, Index pos0,
                      Matrix<T> x);

/// ALiBi slopes (Press et al. 2022, arXiv:2108.12409): 2^(-8(h+1)/heads) for a power of two;
/// otherwise those of the next smaller power P, then every second slope of 2P from the first on.
std::vector<double> alibi_slopes(Index heads);

/// T5's bucket of a relative position key - query (Raffel et al. 2020, arXiv:1910.10683): each
/// direction's first half of buckets hold one distance each, the others grow with its logarithm,
/// and the last holds all from max_distance on. Bidirectional, the upper half of the buckets is the
/// future's; otherwise the future is bucket 0. ShapeError where max_distance is within the exact
/// half, or no bucket is exact.
Index t5_bucket(Index relative, Index num_buckets, Index max_distance, bool bidirectional);

}  // namespace attn
