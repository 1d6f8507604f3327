#pragma once

#include <optional>

#include "check/layer/layer_case.h"
#include "check/mistakes/suppositions.h"

namespace attn {

/// How features and heads are told apart where a projection is cut into heads, or heads are joined.
enum class HeadCut {
  kHeads,        // feature h * head_dim + c: right
  kFeatures,     // feature c * heads + h
  kNoTranspose,  // the memory of (rows, heads, features) taken for (heads, rows, features)
};

/// How a rotation is done.
struct RopeTwist {
  LayerRope rope;
  double direction = 1;
  int times = 1;
  bool mixed = false;  // angles laid out in one convention, pairs taken in the other
};

/// Steps that a mistaken layer takes differently.
struct LayerTwist {
  HeadCut split = HeadCut::kHeads;
  HeadCut join = HeadCut::kHeads;
  bool own_ropes = false;  // the three below and not the problem's
  std::optional<RopeTwist> q_rope, k_rope, v_rope;
  bool bias_after_rope = false;
  bool no_out_proj = false;
  bool residual = false;  // x is added to the output
  std::optional<Supposition> attention;
};

/// The steps of an implementation with that mistake, in float64. `given` as in reference_layer.
LayerSteps twisted_layer(const LayerProblem& problem, const LayerTwist& twist,
                         const LayerSteps& given, int threads);

}  // namespace attn
