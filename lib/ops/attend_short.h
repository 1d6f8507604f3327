#pragma once

#include "ops/attend.h"

namespace attn {

/// Many sequences of one short length that attend to themselves, nothing hidden but what lies
/// ahead: training on a toy task. A tile of one such sequence and head fills no register, so a
/// vector's lanes are heads of sequences instead, each a product and a softmax of its own.
template <class T>
struct ShortAttention {
  HeadShape shape;  // kv_heads as heads; widths are multiples of 4
  Index batch = 0;
  Index seq_len = 0;
  bool causal = true;
  T scale = 0;  // 0: 1 / sqrt(head_dim)

  /// Whether the shapes are of this kind.
  bool fits() const;
};

/// attend for all of them: q, k (batch * seq_len, heads * head_dim), v and out likewise with
/// value_dim; lse (batch, heads, seq_len), or null.
template <class T>
void attend_short(const ShortAttention<T>& call, In<T> q, In<T> k, In<T> v, Matrix<T> out, T* lse,
                  Arena& arena);

/// attend_backward for all of them, which here sets the gradients instead of adding to them.
template <class T>
void attend_short_backward(const ShortAttention<T>& call, In<T> q, In<T> k, In<T> v,
                           const std::type_identity_t<T>* lse, In<T> d_out, Matrix<T> d_q,
                           Matrix<T> d_k, Matrix<T> d_v, Arena& arena);

}  // namespace attn
