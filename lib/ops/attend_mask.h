#pragma once

#include "ops/attend.h"

namespace attn {

/// Keys begin .. end - 1.
struct KeyRange {
  Index begin = 0;
  Index end = 0;

  bool empty() const { return begin >= end; }
};

/// The keys that the ranges of the mask (causal, windows, kv_len) let a row see. Inside it
/// `allowed` and a bias of minus infinity may hide more.
template <class T>
KeyRange visible_keys(const AttendMask<T>& mask, Index row, Index kv_rows);

/// mask.scale, or 1 / sqrt(head_dim) where it is 0.
template <class T>
T score_scale(const AttendMask<T>& mask, Index head_dim);

/// True where the tables of the mask hide the key from the row.
template <class T>
bool hidden_by_table(const AttendMask<T>& mask, Index head, Index row, Index key);

/// The final score for a raw product q.k, by the order of AttendMask. Where `capped` is not null
/// it receives tanh(s / softcap), whose square backward needs.
template <class T>
T final_score(const AttendMask<T>& mask, T scale, Index head, Index row, Index key, T product,
              T* capped = nullptr);

/// Throws ShapeError unless the heads divide and the matrices agree with them.
template <class T>
void check_attend(const HeadShape& shape, In<T> q, In<T> k, In<T> v, In<T> out);

}  // namespace attn
