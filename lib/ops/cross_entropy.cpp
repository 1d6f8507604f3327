#include "ops/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/cross_entropy.cpp"
#include <hwy/foreach_target.h>

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// The loss of one row; where d_row is not null it receives (softmax - one_hot) * grad_scale.
template <class T>
double row_loss(const T* row, Index vocab, Index target, T grad_scale, T* d_row) {
  const Tag<T> d;
  const T largest = max_over(vocab, row);
  const auto shift = hn::Set(d, largest);
  const T at_target = row[target];
  const auto shifted_exp = [=](auto v) HWY_ATTR { return exp_of(hn::Sub(v, shift)); };
  T total = 0;
  if (d_row == nullptr) {
    total = sum_over<T>(vocab, shifted_exp, row);
  } else {
    transform<T>(vocab, d_row, shifted_exp, row);
    total = sum_over<T>(
        vocab, [](auto v) HWY_ATTR { return v; }, d_row);
    const auto factor = hn::Set(d, grad_scale / total);
    transform<T>(
        vocab, d_row, [=](auto v) HWY_ATTR { return hn::Mul(v, factor); }, d_row);
    d_row[target] -= grad_scale;
  }
  return std::log(static_cast<double>(total)) +
         (static_cast<double>(largest) - static_cast<double>(at_target));
}

ATTNTOOLS_BOTH_TYPES(row_loss);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(row_loss);

}  // namespace

template <class T>
CrossEntropy cross_entropy(In<T> logits, std::span<const Index> targets,
                           std::type_identity_t<T> grad_scale, Matrix<T> d_logits) {
  const bool with_gradient = !d_logits.empty();
  const Index vocab = logits.cols();
  require_shape(static_cast<Index>(targets.size()) == logits.rows(),
                "cross_entropy: one target a row is wanted");
  require_shape(
      !with_gradient || (d_logits.rows() == logits.rows() && d_logits.cols() == logits.cols()),
      "cross_entropy: the gradient has another shape");
  for (const Index target : targets) {
    require_shape(target == kIgnoreIndex || (target >= 0 && target < vocab),
                  "cross_entropy: a target outside the vocabulary");
  }
  const auto loss_of = ATTNTOOLS_DISPATCH(T, row_loss);
  CrossEntropy result;
  for (Index i = 0; i < logits.rows(); ++i) {
    const Index target = targets[static_cast<std::size_t>(i)];
    T* d_row = with_gradient ? d_logits.row(i) : nullptr;
    if (target == kIgnoreIndex) {
      if (with_gradient) std::fill(d_row, d_row + vocab, T{0});
      continue;
    }
    result.loss_sum += loss_of(logits.row(i), vocab, target, grad_scale, d_row);
    ++result.counted;
  }
  return result;
}

template CrossEntropy cross_entropy<float>(In<float>, std::span<const Index>, float, Matrix<float>);
template CrossEntropy cross_entropy<double>(In<double>, std::span<const Index>, double,
                                            Matrix<double>);

}  // namespace attn
#endif  // HWY_ONCE
