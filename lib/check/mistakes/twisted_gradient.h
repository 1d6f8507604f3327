#pragma once

#include "check/reference/reference_gradient.h"

namespace attn {

/// The attention that a backward pass believes it follows.
struct BackwardView {
  AttentionProblem problem;
  /// Weights are exp(score - lse) with the log-sum-exp, and delta comes from the out, of the
  /// forward pass that really was, as kernels that recompute scores have it.
  bool stored_lse = false;
};

/// What dS is made from.
enum class ScoreGradient {
  kFull,       // P (dP - delta)
  kNoWeights,  // dP - delta
  kDiagonal,   // P (1 - P) dP
};

/// What dV is a sum of d_out by.
enum class ValueWeights { kWeights, kUnnormalised, kScores, kTransposed };

/// Which query heads add up in a key-value head.
enum class GroupSum { kOwn, kFirst, kLast, kMean, kTiled };

/// Steps of a backward pass; the defaults are right.
struct BackwardSteps {
  ScoreGradient scores = ScoreGradient::kFull;
  ValueWeights values = ValueWeights::kWeights;
  GroupSum group = GroupSum::kOwn;
  double delta = 1;           // factor on it: 0 leaves it out, -1 adds it
  bool cap_slope = true;      // of the softcap
  int query_scale = 1;        // how often dQ is scaled
  int key_scale = 1;          // how often dK is
  bool query_turned = false;  // dQ from dS transposed
  bool key_turned = false;    // dK from dS transposed
  Index queries = -1;         // those from here on are left out; -1: none
};

/// The gradient of an implementation that takes these steps, in float64, where dV follows one view
/// and dQ and dK another. q, k and v must be those of `problem` in both. For diagnosis: it takes
/// q_len * kv_len numbers a head.
AttentionGradient twisted_gradient(const AttentionProblem& problem, const Tensor<double>& d_out,
                                   const BackwardView& for_values, const BackwardView& for_scores,
                                   const BackwardSteps& steps, int threads);

}  // namespace attn
