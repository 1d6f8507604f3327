#pragma once

#include "check/reference/reference_attention.h"

namespace attn {

/// Gradients of a loss by what an attention reads, each of the shape of its tensor.
struct AttentionGradient {
  Tensor<double> d_q;      // (batch, heads, q_len, head_dim)
  Tensor<double> d_k;      // (batch, kv_heads, kv_len, head_dim)
  Tensor<double> d_v;      // (batch, kv_heads, kv_len, value_dim)
  Tensor<double> d_sinks;  // (heads); no values without sinks
};

/// The backward pass of reference_attention for the gradient `d_out` (the shape of out), in float64
/// and plain loops, with no code of the fast kernel's. With P the weights, over the keys a row
/// sees:
///   dV_j += P_ij dO_i;  dP_ij = dO_i . V_j;  delta_i = sum over j of P_ij dP_ij (= dO_i . O_i);
///   dS_ij = P_ij (dP_ij - delta_i);  times 1 - tanh^2(raw / softcap) where there is a cap;
///   dQ_i = scale * sum of dS_ij K_j;  dK_j = scale * sum of dS_ij Q_i;
///   d_sink -= P_i,sink delta_i
/// (Dao et al. 2022, arXiv:2205.14135, appendix B.2). The query heads of a group add up in their
/// key-value head. Hidden keys are never read and get 0; a row that sees nothing gives and gets 0.
/// The problem must be valid. Memory is linear in the sequence.
AttentionGradient reference_gradient(const AttentionProblem& problem, const Tensor<double>& d_out,
                                     int threads);

/// An answer of zeros for a problem.
AttentionGradient no_gradient(const AttentionProblem& problem);

}  // namespace attn
