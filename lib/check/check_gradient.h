#pragma once

#include "check/check_attention.h"
#include "check/reference/reference_gradient.h"

namespace attn {

/// What each tensor of a gradient may differ from the truth.
struct GradientLimits {
  Limits d_q, d_k, d_v, d_sinks;
};

/// Holds a recorded gradient to the float64 backward pass and to the laws of gradients, and adds
/// the checks, the second opinion of this library's own backward pass, and the names of mistakes to
/// the report, in which the forward pass has been checked. A gradient must have been recorded. Of a
/// case that is not in memory nothing is checked, and that is said.
void check_gradient(const PartedCase& source, const CheckSettings& settings,
                    AttentionReport& report);

/// Three times what honest orders of the sums are off in `dtype` (FlashAttention's own tests allow
/// a gradient that much, twice for out), and the floor of `dtype`.
GradientLimits gradient_limits(const AttentionProblem& problem, const Tensor<double>& d_out,
                               const AttentionGradient& truth, DType dtype, bool round_steps,
                               int threads);

}  // namespace attn
