#pragma once

#include <cstdint>
#include <span>

#include "core/arena.h"
#include "core/matrix.h"
#include "ops/dropout.h"

namespace attn {

/// How the columns of q, k, v and out are cut into heads. Query head h reads key-value head
/// h / (heads / kv_heads): keys are never replicated.
struct HeadShape {
  Index heads = 1;
  Index kv_heads = 1;
  Index head_dim = 0;   // features of a query or key
  Index value_dim = 0;  // features of a value

  Index group() const { return heads / kv_heads; }
};

/// A run of consecutive keys and values: k (rows, kv_heads * head_dim), v (rows, kv_heads *
/// value_dim). A plain matrix or a contiguous cache is one run, a paged cache one run a page.
template <class T>
struct KvRun {
  Matrix<const T> k;
  Matrix<const T> v;
};

/// Numbers laid over (heads, q_len, kv_len) with strides of 0 where they are the same for all.
template <class T>
struct ScoreGrid {
  const T* data = nullptr;  // null: none
  Index head_stride = 0;
  Index row_stride = 0;
  Index col_stride = 0;

  const T& at(Index head, Index row, Index col) const {
    return data[head * head_stride + row * row_stride + col * col_stride];
  }
};

/// What a query may see and what is added to its scores. With p = row + offset and j a key:
///   s = scale * q.k;  s = softcap * tanh(s / softcap);  s -= alibi_slope * |p - j|;  s += bias;
///   hidden unless  j < kv_len,  j <= p if causal,  p - window_left <= j <= p + window_right,
///   and allowed (row, j) is not 0;  softmax over what is seen, exp(sink) in the denominator too.
/// A hidden key has weight exactly 0 and no influence, not even a NaN's. A row that sees nothing
/// gives zeros and a log-sum-exp of minus infinity. Dropout comes last: it hides normalised weights
/// from the mix, and changes neither the log-sum-exp nor what a probe sees.
template <class T>
struct AttendMask {
  bool causal = false;
  Index offset = 0;                 // position of row 0 among the keys
  Index kv_len = -1;                // keys from here on are padding; -1: all count
  Index window_left = -1;           // keys before p that are seen; -1: all
  Index window_right = -1;          // keys after p that are seen; -1: all
  T scale = 0;                      // 0: 1 / sqrt(head_dim)
  T softcap = 0;                    // 0: none
  const T* alibi_slopes = nullptr;  // (heads)
  const T* sinks = nullptr;         // (heads), not scaled, not capped
  ScoreGrid<T> bias;                // added; minus infinity hides
  ScoreGrid<std::uint8_t> allowed;  // 0 hides
  DropoutMask dropout;              // of weights, by (head, row, key)
};

/// What a caller may want beside the output; null where it does not.
template <class T>
struct AttendProbe {
  T* lse = nullptr;  // (heads, q_len) natural log-sum-exp of the final scores; backward needs it
  T* weights = nullptr;  // (heads, q_len, kv_len) exp(score - lse); hidden keys exactly 0
  T* scores = nullptr;   // (heads, q_len, kv_len) final scores; hidden keys minus infinity
};

/// softmax(scores) * values for one sequence (Vaswani et al. 2017, eq. 1), by running maximum and
/// sum over blocks of keys (Milakov & Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022,
/// arXiv:2205.14135), so that memory grows with q_len and not with q_len * kv_len.
/// q (q_len, heads * head_dim), runs of keys and values, out (q_len, heads * value_dim).
/// One thread; rows of q may be split over several calls by moving mask.offset.
template <class T>
void attend(const HeadShape& shape, In<T> q, std::span<const KvRun<T>> kv,
            const AttendMask<T>& mask, Matrix<T> out, const AttendProbe<T>& probe, Arena& arena);

/// Gradients of attend with one run of keys: adds to d_q, d_k, d_v (shapes of q, k, v) from d_out
/// (shape of out), recomputing scores and weights from the inputs and the stored lse (heads,
/// q_len). The mask's tables get no gradient. A row that saw nothing gives none.
template <class T>
void attend_backward(const HeadShape& shape, In<T> q, In<T> k, In<T> v, const AttendMask<T>& mask,
                     In<T> out, const std::type_identity_t<T>* lse, In<T> d_out, Matrix<T> d_q,
                     Matrix<T> d_k, Matrix<T> d_v, Arena& arena);

}  // namespace attn
