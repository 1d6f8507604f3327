#pragma once

#include "check/reference/reference_gradient.h"

namespace attn {

/// The library's own backward pass (ops/attend_backward, float32), as a second opinion. Sinks get
/// no gradient from it.
AttentionGradient fast_gradient(const AttentionProblem& problem, const Tensor<double>& d_out,
                                int threads);

}  // namespace attn
