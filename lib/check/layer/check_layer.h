#pragma once

#include <string>
#include <vector>

#include "check/layer/layer_case.h"
#include "check/verdict/verdict.h"

namespace attn {

/// What came of checking a layer.
struct LayerReport {
  Verdict verdict;          // a check for each step, in order
  Verdict kernel;           // of this library's float32 layer: a second opinion
  LayerSteps truth;         // the float64 steps
  std::string first_wrong;  // the first step that deviates; empty where none does
  std::vector<std::string> remarks;
};

struct LayerSettings {
  int threads = 1;
  /// What a norm made x of, where there was one and a mistake may have left it out.
  std::optional<Tensor<double>> raw_x = std::nullopt;
};

/// Holds every recorded step of a layer to the float64 layer from x on, and, where that fails, to
/// what the step must give of the steps recorded before it: so a step that only inherits an error
/// is told from the one that makes it. Limits are twice the error of honest arithmetic in the
/// declared type and its floor (LimitFinder), of the whole chain or of the step. The case must be
/// valid.
LayerReport check_layer(const LayerCase& layer, const LayerSettings& settings);

}  // namespace attn
