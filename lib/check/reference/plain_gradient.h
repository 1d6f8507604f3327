#pragma once

#include "check/reference/reference_gradient.h"

namespace attn {

/// Honest ways to arrange a backward pass; their rounding differs, and none is more right.
enum class BackwardOrder {
  kWholeRows,      // weights from a softmax, delta from weights and their gradients, scale on dS
  kStoredSums,     // weights as exp(score - lse), delta from d_out and out, scale at the end
  kQueriesScaled,  // q is scaled first; eight partial sums
  kBothScaled,     // the root of the scale on q and on k
};
inline constexpr BackwardOrder kBackwardOrders[] = {
    BackwardOrder::kWholeRows, BackwardOrder::kStoredSums, BackwardOrder::kQueriesScaled,
    BackwardOrder::kBothScaled};

/// The backward pass as an ordinary implementation in `dtype` computes it: inputs as stored, sums
/// in float32 (float64 for f64), out, weights, dS and the results rounded to `dtype`. With
/// `round_steps`, as where each step is a tensor of that type, scores, dP and each query head's
/// part of dK and dV are rounded too. How far this is from reference_gradient says how far an
/// honest backward may be. dtype is one of f64, f32, f16, bf16.
AttentionGradient plain_gradient(const AttentionProblem& problem, const Tensor<double>& d_out,
                                 DType dtype, BackwardOrder order, bool round_steps, int threads);

}  // namespace attn
