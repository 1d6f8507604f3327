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

// By how much the target's logit exceeds the mean of all.
template <class T>
double lead(const T* row, Index vocab, Index target) {
  double sum = 0;
  for (Index j = 0; j < vocab; ++j) sum += static_cast<double>(row[j]);
  return static_cast<double>(row[target]) - sum / static_cast<double>(vocab);
}

}  // namespace

template <class T>
CrossEntropy cross_entropy(In<T> logits, std::span<const Index> targets,
                           std::type_identity_t<T> grad_scale, Matrix<T> d_logits,
                           double label_smoothing) {
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
  require_shape(label_smoothing >= 0 && label_smoothing < 1, "cross_entropy: label smoothing");
  const auto loss_of = ATTNTOOLS_DISPATCH(T, row_loss);
  const T spread = grad_scale * static_cast<T>(label_smoothing);
  CrossEntropy result;
  for (Index i = 0; i < logits.rows(); ++i) {
    const Index target = targets[static_cast<std::size_t>(i)];
    T* d_row = with_gradient ? d_logits.row(i) : nullptr;
    if (target == kIgnoreIndex) {
      if (with_gradient) std::fill(d_row, d_row + vocab, T{0});
      continue;
    }
    // (1 - s) (lse - x_t) + s (lse - mean x) = (lse - x_t) + s (x_t - mean x); the logits are
    // looked at before the gradient may take their place.
    if (label_smoothing > 0)
      result.loss_sum += label_smoothing * lead(logits.row(i), vocab, target);
    result.loss_sum += loss_of(logits.row(i), vocab, target, grad_scale, d_row);
    if (with_gradient && label_smoothing > 0) {
      const T share = spread / static_cast<T>(vocab);
      for (Index j = 0; j < vocab; ++j) d_row[j] -= share;
      d_row[target] += spread;
    }
    ++result.counted;
  }
  return result;
}

template CrossEntropy cross_entropy<float>(In<float>, std::span<const Index>, float, Matrix<float>,
                                           double);
template CrossEntropy cross_entropy<double>(In<double>, std::span<const Index>, double,
                                            Matrix<double>, double);

}  // namespace attn
#endif  // HWY_ONCE
