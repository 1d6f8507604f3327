#pragma once

#include <span>

#include "core/matrix.h"

namespace attn {

/// A target that is not in the loss, as in PyTorch.
inline constexpr Index kIgnoreIndex = -100;

struct CrossEntropy {
  double loss_sum = 0;  // nats, over the counted targets
  Index counted = 0;    // targets other than kIgnoreIndex
};

/// Sum over rows of -log softmax(logits)[target], in nats. logits (rows, vocab), targets (rows).
/// Where d_logits (rows, vocab; may be the logits themselves) is not empty it is set to
/// (softmax - one_hot) * grad_scale, 0 in rows that are not counted; grad_scale is
/// 1 / (targets counted in the whole step) for the gradient of the mean.
/// label_smoothing moves that share of each target's probability to all tokens alike, as PyTorch
/// does: loss and gradient are those of (1 - s) one_hot + s / vocab. 0 <= s < 1.
/// Throws ShapeError for a target outside 0 .. vocab - 1.
template <class T>
CrossEntropy cross_entropy(In<T> logits, std::span<const Index> targets,
                           std::type_identity_t<T> grad_scale, Matrix<T> d_logits,
                           double label_smoothing = 0);

}  // namespace attn
