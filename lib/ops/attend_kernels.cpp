#include "ops/attend_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attend_kernels.cpp"
#include <hwy/foreach_target.h>

#include "ops/attend_products-inl.h"
#include "ops/attend_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

ATTNTOOLS_BOTH_TYPES(products);
ATTNTOOLS_BOTH_TYPES(mix);
ATTNTOOLS_BOTH_TYPES(softmax_rows_of_tile);
ATTNTOOLS_BOTH_TYPES(softmax_backward_rows_of_tile);
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

ATTNTOOLS_EXPORT(products);
ATTNTOOLS_EXPORT(mix);
ATTNTOOLS_EXPORT(softmax_rows_of_tile);
ATTNTOOLS_EXPORT(softmax_backward_rows_of_tile);
ATTNTOOLS_EXPORT(scale_rows);
ATTNTOOLS_EXPORT(weights_row);
ATTNTOOLS_EXPORT(dots_of_rows);
ATTNTOOLS_EXPORT(finite);

}  // namespace

template <class T>
void small_products(In<T> q, In<T> k, Matrix<T> s) {
  ATTNTOOLS_DISPATCH(T, products)(q, k, s);
}

template <class T>
void small_mix(const MixWeights<std::type_identity_t<T>>& weights, In<T> x, const KeyRange* ranges,
               Index key0, bool skip_zeros, Matrix<T> out) {
  ATTNTOOLS_DISPATCH(T, mix)(weights, x, ranges, key0, skip_zeros, out);
}

template <class T>
void softmax_tile(const AttendMask<T>& mask, std::type_identity_t<T> scale, const RowBlock& block,
                  const KeyRange* visible, Index key0, Matrix<T> s, const RunningSoftmax<T>& state,
                  const KeptScores<T>& kept) {
  ATTNTOOLS_DISPATCH(T, softmax_rows_of_tile)(mask, scale, block, visible, key0, s, state, kept);
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
                           const RowBlock& block, const KeyRange* visible, Index key0, Matrix<T> s,
                           Matrix<T> d_weights, const T* lse, const T* common) {
  ATTNTOOLS_DISPATCH(T, softmax_backward_rows_of_tile)
  (mask, scale, block, visible, key0, s, d_weights, lse, common);
}

template <class T>
void row_dots(In<T> a, In<T> b, T* dots) {
  ATTNTOOLS_DISPATCH(T, dots_of_rows)(a, b, dots);
}

template <class T>
bool all_finite(Matrix<const T> x) {
  return ATTNTOOLS_DISPATCH(T, finite)(x);
}

#define ATTNTOOLS_INSTANTIATE(T)                                                                  \
  template void small_products<T>(In<T>, In<T>, Matrix<T>);                                       \
  template void small_mix<T>(const MixWeights<T>&, In<T>, const KeyRange*, Index, bool,           \
                             Matrix<T>);                                                          \
  template void softmax_tile<T>(const AttendMask<T>&, T, const RowBlock&, const KeyRange*, Index, \
                                Matrix<T>, const RunningSoftmax<T>&, const KeptScores<T>&);       \
  template void scale_each_row<T>(const T*, Matrix<T>);                                           \
  template void weights_of_scores<T>(const T*, Index, T, T*);                                     \
  template void softmax_backward_tile<T>(const AttendMask<T>&, T, const RowBlock&,                \
                                         const KeyRange*, Index, Matrix<T>, Matrix<T>, const T*,  \
                                         const T*);                                               \
  template void row_dots<T>(In<T>, In<T>, T*);                                                    \
  template bool all_finite<T>(Matrix<const T>)

ATTNTOOLS_INSTANTIATE(float);
ATTNTOOLS_INSTANTIATE(double);

#undef ATTNTOOLS_INSTANTIATE

}  // namespace attn
#endif  // HWY_ONCE
