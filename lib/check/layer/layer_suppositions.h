#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/layer/twisted_layer.h"

namespace attn {

/// A known mistake in a layer: the layer as somebody saw it, and the steps they took differently.
struct LayerSupposition {
  std::string name;
  std::string detail;  // which of several, "k_proj"; may be empty
  std::function<void(LayerProblem&)> change;
  LayerTwist twist;

  LayerSteps answer(const LayerProblem& problem, const LayerSteps& given, int threads) const {
    LayerProblem seen = problem;
    if (change) change(seen);
    return twisted_layer(seen, twist, given, threads);
  }
};

/// All that can be supposed of a layer, the most specific first: mistakes in projections, heads,
/// rotation and output, then those of the attention between (suppositions()). `raw_x` is what a
/// norm made x of, where there was one.
std::vector<LayerSupposition> layer_suppositions(const LayerProblem& problem,
                                                 const std::optional<Tensor<double>>& raw_x);

}  // namespace attn
