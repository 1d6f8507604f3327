// What else happens to rows of a tile: softmax backward, dropout, scaling, dots. For
// attend_kernels.cpp; included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_ROWS_INL_H
#undef ATTNTOOLS_OPS_ATTEND_ROWS_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_ROWS_INL_H
#endif

#include "ops/attend_scores-inl.h"
#include "ops/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

template <class T>
void softmax_backward_rows_of_tile(const AttendMask<T>& mask, T scale, const RowBlock& block,
                                   const KeyRange* ranges, Index key0, Matrix<T> s,
                                   Matrix<T> d_weights, T* slopes, const T* lse, const T* common) {
  const Tag<T> d;
  const bool as_they_are = only_scales(mask);
  const bool capped = mask.softcap != T{0};
  const auto scale_by = hn::Set(d, scale);
  const auto score_by = hn::Set(d, as_they_are ? scale : T{1});
  for (Index r = 0; r < s.rows(); ++r) {
    KeyRange range = ranges[r];
    if (lse[r] == kHidden<T>) range.end = range.begin;
    T* weights = s.row(r);
    T* gradients = d_weights.row(r);
    if (!as_they_are) {
      finish_scores(mask, scale, block.head_of(r), block.row_of(r), key0 + range.begin,
                    weights + range.begin, range.end - range.begin,
                    capped ? slopes + range.begin : nullptr);
    }
    const auto shift = hn::Set(d, lse[r]);
    const auto mean = hn::Set(d, common[r]);
    for_range<T>(range, [&](auto all, Index i, auto inside) HWY_ATTR {
      auto weight = exp_of(hn::Sub(hn::Mul(hn::LoadU(d, weights + i), score_by), shift));
      if constexpr (!all.value) weight = hn::IfThenElseZero(inside, weight);
      hn::StoreU(weight, d, weights + i);
      auto gradient = hn::Mul(weight, hn::Sub(hn::LoadU(d, gradients + i), mean));
      gradient = hn::Mul(gradient, scale_by);
      if (capped) gradient = hn::Mul(gradient, hn::LoadU(d, slopes + i));
      // 0 * NaN of a hidden key must be 0.
      gradient = hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), gradient);
      hn::StoreU(gradient, d, gradients + i);
    });
    clear_outside(range, s.cols(), weights);
    clear_outside(range, s.cols(), gradients);
  }
}

template <class T>
void drop_rows_of_tile(const DropoutMask& mask, const RowBlock& block, const KeyRange* ranges,
                       Index key0, Matrix<T> x) {
  const RoundKeys keys(mask.key);
  for (Index r = 0; r < x.rows(); ++r) {
    const KeyRange range = ranges[r];
    drop_columns(mask, keys, block.head_of(r), block.row_of(r), key0 + range.begin,
                 range.end - range.begin, x.row(r) + range.begin);
  }
}

template <class T>
void scale_rows(const T* factors, Matrix<T> x) {
  for (Index r = 0; r < x.rows(); ++r) {
    if (factors[r] == T{1}) continue;
    const auto by = hn::Set(Tag<T>(), factors[r]);
    transform<T>(
        x.cols(), x.row(r), [=](auto v) HWY_ATTR { return hn::Mul(v, by); }, x.row(r));
  }
}

template <class T>
void weights_row(const T* scores, Index count, T lse, T* weights) {
  if (lse == kHidden<T>) {
    std::fill(weights, weights + count, T{0});
    return;
  }
  const auto shift = hn::Set(Tag<T>(), lse);
  transform<T>(
      count, weights, [=](auto v) HWY_ATTR { return exp_of(hn::Sub(v, shift)); }, scores);
}

template <class T>
void dots_of_rows(Matrix<const T> a, Matrix<const T> b, T* dots) {
  for (Index r = 0; r < a.rows(); ++r) {
    dots[r] = sum_over<T>(
        a.cols(), [](auto u, auto v) HWY_ATTR { return hn::Mul(u, v); }, a.row(r), b.row(r));
  }
}

template <class T>
bool finite(Matrix<const T> x) {
  const Tag<T> d;
  // 0 times anything finite adds 0, times anything else a NaN that stays. Narrow rows would wait
  // for one sum.
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  for (Index r = 0; r < x.rows(); ++r) {
    const T* row = x.row(r);
    for_vectors<T>(x.cols(), [&](auto whole, Index i, Index n) HWY_ATTR {
      even = hn::MulAdd(load<whole.value>(row + i, n), hn::Zero(d), even);
    });
    std::swap(even, odd);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd))) == T{0};
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
