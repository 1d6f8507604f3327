#include "ops/cross_entropy.h"

#include <algorithm>
#include <cmath>

namespace attn {

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

  CrossEntropy result;
  for (Index i = 0; i < logits.rows(); ++i) {
    const Index target = targets[static_cast<std::size_t>(i)];
    if (target == kIgnoreIndex) {
      if (with_gradient) std::fill(d_logits.row(i), d_logits.row(i) + vocab, T{0});
      continue;
    }
    const T* row = logits.row(i);
    const T largest = *std::max_element(row, row + vocab);
    T total = 0;
    for (Index j = 0; j < vocab; ++j) total += std::exp(row[j] - largest);
    result.loss_sum += std::log(static_cast<double>(total)) +
                       (static_cast<double>(largest) - static_cast<double>(row[target]));
    ++result.counted;
    if (!with_gradient) continue;
    T* d_row = d_logits.row(i);
    for (Index j = 0; j < vocab; ++j) d_row[j] = std::exp(row[j] - largest) / total * grad_scale;
    d_row[target] -= grad_scale;
  }
  return result;
}

template CrossEntropy cross_entropy<float>(In<float>, std::span<const Index>, float, Matrix<float>);
template CrossEntropy cross_entropy<double>(In<double>, std::span<const Index>, double,
                                            Matrix<double>);

}  // namespace attn
