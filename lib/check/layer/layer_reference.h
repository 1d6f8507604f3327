#pragma once

#include "check/layer/layer_case.h"

namespace attn {

/// x (batch, rows, in) times W^T, plus the bias: (batch, rows, out), in float64 and plain loops.
Tensor<double> reference_projection(const Tensor<double>& x, const Projection& projection,
                                    int threads);

/// (batch, rows, heads * features) as (batch, heads, rows, features), and back.
Tensor<double> split_heads(const Tensor<double>& joined, Index heads);
Tensor<double> join_heads(const Tensor<double>& split);

/// Turns each head's pairs by its row's position: (a, b) -> (a cos - b sin, a sin + b cos).
/// `direction` -1 turns the other way.
void reference_rotation(const LayerRope& rope, Tensor<double>& split, double direction = 1);

/// The attention between the projections: the layer's rules and tables with these tensors.
AttentionProblem attention_between(const LayerProblem& problem, Tensor<double> q, Tensor<double> k,
                                   Tensor<double> v);

/// All steps of a layer in float64: out_proj(attention(rope(q_proj(x)), rope(k_proj(c)),
/// v_proj(c))), c the context or x (Vaswani et al. 2017, section 3.2.2). Where `given` has a step,
/// the steps behind it follow from that and not from x: so each step can be held to what it was
/// made from. Given scores must be final ones (ScoreStage::kMasked). No code of lib/nn's.
LayerSteps reference_layer(const LayerProblem& problem, const LayerSteps& given, int threads);

}  // namespace attn
