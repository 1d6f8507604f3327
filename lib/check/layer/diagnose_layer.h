#pragma once

#include "check/layer/check_layer.h"
#include "check/verdict/tolerance.h"

namespace attn {

/// What each step may differ.
struct LayerLimits {
  std::array<Limits, kLayerSteps> steps;

  Limits& operator[](LayerStep step) { return steps[static_cast<std::size_t>(step)]; }
  const Limits& operator[](LayerStep step) const { return steps[static_cast<std::size_t>(step)]; }
};

/// What a diagnosis of a layer starts from.
struct LayerFindings {
  const LayerCase& layer;    // its q and k at the stage of the truth's
  const LayerSteps& as_was;  // what was recorded, at whatever stage
  const LayerSteps& truth;
  const LayerLimits& allowed;
  const std::vector<LayerStep>& wrong;  // steps that deviate from what they were made of
  const std::optional<Tensor<double>>& raw_x;
};

/// The known mistakes under each of which the layer gives all that was recorded, the most specific
/// first; where none does, for each deviating step one that gives it of the steps before it; where
/// that leaves one open, two mistakes that give all; else "numeric-error".
std::vector<Diagnosis> diagnose_layer(const LayerFindings& findings, int threads);

}  // namespace attn
