#include "ops/attend_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attend_kernels.cpp"
#include <hwy/foreach_target.h>

#include "ops/attend_rows-inl.h"
#include "ops/attend_softmax-inl.h"
#include "ops/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

ATTNTOOLS_BOTH_TYPES(turn_rows);
ATTNTOOLS_BOTH_TYPES(multiply_tile);
ATTNTOOLS_BOTH_TYPES(mix_seen_rows);
ATTNTOOLS_BOTH_TYPES(softmax_rows_of_tile);
ATTNTOOLS_BOTH_TYPES(softmax_backward_rows_of_tile);
ATTNTOOLS_BOTH_TYPES(drop_rows_of_tile);
ATTNTOOLS_BOTH_TYPES(scale_rows);
ATTNTOOLS_BOTH_TYPES(weights_row);
ATTNTOOLS_BOTH_TYPES(dots_of_rows);
ATTNTOOLS_BOTH_TYPES(finite);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(turn_rows);
ATTNTOOLS_EXPORT(multiply_tile);
ATTNTOOLS_EXPORT(mix_seen_rows);
ATTNTOOLS_EXPORT(softmax_rows_of_tile);
ATTNTOOLS_EXPORT(softmax_backward_rows_of_tile);
ATTNTOOLS_EXPORT(drop_rows_of_tile);
ATTNTOOLS_EXPORT(scale_rows);
ATTNTOOLS_EXPORT(weights_row);
ATTNTOOLS_EXPORT(dots_of_rows);
ATTNTOOLS_EXPORT(finite);

}  // namespace

template <class T>
void turn(In<T> x, Matrix<T> turned) {
  ATTNTOOLS_DISPATCH(T, turn_rows)(x, turned);
}

template <class T>
void multiply(const Walk<std::type_identity_t<T>>& a, In<T> b, const ProductRanges& ranges,
              bool add, Matrix<T> c) {
  const Matrix<const T> start = add ? Matrix<const T>(c) : Matrix<const T>();
  ATTNTOOLS_DISPATCH(T, multiply_tile)(a, b, ranges, start, c);
}

template <class T>
void mix_seen(const Walk<std::type_identity_t<T>>& weights, In<T> x, Matrix<T> out) {
  ATTNTOOLS_DISPATCH(T, mix_seen_rows)(weights, x, out);
}

template <class T>
void softmax_tile(const AttendMask<T>& mask, std::type_identity_t<T> scale, const RowBlock& block,
                  const KeyRange* ranges, Index key0, Matrix<T> s, const RunningSoftmax<T>& state,
                  const KeptScores<T>& kept) {
  ATTNTOOLS_DISPATCH(T, softmax_rows_of_tile)(mask, scale, block, ranges, key0, s, state, kept);
}

template <class T>
void drop_tile(const DropoutMask& mask, const RowBlock& block, const KeyRange* ranges, Index key0,
               Matrix<T> x) {
  ATTNTOOLS_DISPATCH(T, drop_rows_of_tile)(mask, block, ranges, key0, x);
}

template <class T>
void scale_each_row(const T* factors, Matrix<T> x) {
  ATTNTOOLS_DISPATCH(T, scale_rows)(factors, x);
}

template <class T>
void weights_of_scores(const T* scores, Index count, std::type_identity_t<T> lse, T* weights) {
  ATTNTOOLS_DISPATCH(T, weights_row)(scores, count, lse, weights);
}

template <class T>
void softmax_backward_tile(const AttendMask<T>& mask, std::type_identity_t<T> scale,
                           const RowBlock& block, const KeyRange* ranges, Index key0, Matrix<T> s,
                           Matrix<T> d_weights, T* slopes, const T* lse, const T* common) {
  ATTNTOOLS_DISPATCH(T, softmax_backward_rows_of_tile)
  (mask, scale, block, ranges, key0, s, d_weights, slopes, lse, common);
}

template <class T>
void row_dots(In<T> a, In<T> b, T* dots) {
  ATTNTOOLS_DISPATCH(T, dots_of_rows)(a, b, dots);
}

template <class T>
bool all_finite(Matrix<const T> x) {
  return ATTNTOOLS_DISPATCH(T, finite)(x);
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define ATTNTOOLS_INSTANTIATE(T)                                                                  \
  template void turn<T>(In<T>, Matrix<T>);                                                        \
  template void multiply<T>(const Walk<T>&, In<T>, const ProductRanges&, bool, Matrix<T>);        \
  template void mix_seen<T>(const Walk<T>&, In<T>, Matrix<T>);                                    \
  template void softmax_tile<T>(const AttendMask<T>&, T, const RowBlock&, const KeyRange*, Index, \
                                Matrix<T>, const RunningSoftmax<T>&, const KeptScores<T>&);       \
  template void drop_tile<T>(const DropoutMask&, const RowBlock&, const KeyRange*, Index,         \
                             Matrix<T>);                                                          \
  template void scale_each_row<T>(const T*, Matrix<T>);                                           \
  template void weights_of_scores<T>(const T*, Index, T, T*);                                     \
  template void softmax_backward_tile<T>(const AttendMask<T>&, T, const RowBlock&,                \
                                         const KeyRange*, Index, Matrix<T>, Matrix<T>, T*,        \
                                         const T*, const T*);                                     \
  template void row_dots<T>(In<T>, In<T>, T*);                                                    \
  template bool all_finite<T>(Matrix<const T>)

// NOLINTEND(bugprone-macro-parentheses)

ATTNTOOLS_INSTANTIATE(float);
ATTNTOOLS_INSTANTIATE(double);

#undef ATTNTOOLS_INSTANTIATE

}  // namespace attn
#endif  // HWY_ONCE
