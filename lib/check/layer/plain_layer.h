#pragma once

#include "check/layer/layer_reference.h"
#include "check/reference/plain_attention.h"

namespace attn {

/// A layer as an ordinary implementation in `dtype` computes it: sums in float32 (float64 for f64),
/// each step's tensor rounded to `dtype`; with `round_scores` scores too. `order` is the
/// attention's, and says how sums of projections run. Steps behind a given one follow from that.
LayerSteps plain_layer(const LayerProblem& problem, const LayerSteps& given, DType dtype,
                       PlainOrder order, bool round_scores, int threads);

}  // namespace attn
