#include "ops/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax.cpp"
#include <hwy/foreach_target.h>

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// max_over may have lost a NaN, which must reach the result.
template <class T>
bool wholly_hidden(const T* row, Index count) {
  return std::all_of(row, row + count,
                     [](T x) { return x == -std::numeric_limits<T>::infinity(); });
}

template <class T>
void softmax_of_rows(Matrix<T> x, T* log_sum_exp) {
  const Tag<T> d;
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  for (Index i = 0; i < x.rows(); ++i) {
    T* row = x.row(i);
    const T largest = max_over(x.cols(), row);
    if (largest == kHidden && wholly_hidden(row, x.cols())) {
      std::fill(row, row + x.cols(), T{0});
      if (log_sum_exp != nullptr) log_sum_exp[i] = kHidden;
      continue;
    }
    const auto shift = hn::Set(d, largest);
    transform<T>(
        x.cols(), row, [=](auto v) HWY_ATTR { return exp_of(hn::Sub(v, shift)); }, row);
    const T total = sum_over<T>(
        x.cols(), [](auto v) HWY_ATTR { return v; }, row);
    const auto inverse = hn::Set(d, T{1} / total);
    transform<T>(
        x.cols(), row, [=](auto v) HWY_ATTR { return hn::Mul(v, inverse); }, row);
    if (log_sum_exp != nullptr) log_sum_exp[i] = largest + std::log(total);
  }
}

ATTNTOOLS_BOTH_TYPES(softmax_of_rows);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(softmax_of_rows);

}  // namespace

template <class T>
void softmax_rows(Matrix<T> x, T* log_sum_exp) {
  ATTNTOOLS_DISPATCH(T, softmax_of_rows)(x, log_sum_exp);
}

template void softmax_rows<float>(Matrix<float>, float*);
template void softmax_rows<double>(Matrix<double>, double*);

}  // namespace attn
#endif  // HWY_ONCE
