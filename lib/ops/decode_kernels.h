#pragma once

#include "ops/attend.h"

// The products of one query row with a tile of keys, for all heads. Keys and values are given row
// by row, so that the pages of a cache may lie anywhere: the same work and the same bits as side by
// side.

namespace attn {

/// Keys are multiplied so many at a time: lists of them are filled up to a multiple.
inline constexpr Index kKeysAtOnce = 4;

/// s(h, j) = q_h . k_j for every head h. q (heads * head_dim); k: `keys` rows of (kv_heads *
/// head_dim), and the last one again up to a multiple of kKeysAtOnce; s (heads, keys), whose row
/// stride is such a multiple too: what is beyond `keys` holds something.
template <class T>
void decode_scores(const HeadShape& shape, const T* q, const T* const* k, Matrix<T> s);

/// out_h = factors[h] * out_h + the sum over j of weights(h, j) * v_j. v: rows of (kv_heads *
/// value_dim). skip_hidden: a value of weight 0 is left out, for it may hold NaN.
template <class T>
void decode_mix(const HeadShape& shape, In<T> weights, const T* const* v, const T* factors,
                bool skip_hidden, T* out);

}  // namespace attn
