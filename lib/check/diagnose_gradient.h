#pragma once

#include <string>
#include <vector>

#include "check/check_gradient.h"

namespace attn {

/// What a diagnosis of a gradient starts from. d_out and the recorded gradients are in `recorded`.
struct GradientFindings {
  const AttentionCase& recorded;
  const AttentionGradient& truth;
  const GradientLimits& allowed;
  const Verdict& verdict;  // of forward and gradient
};

/// Weights of all heads together up to which mistakes are tried on a gradient.
inline constexpr Index kMostGradientsTried = Index{1} << 20;

/// Names of the known mistakes under each of which the backward pass gives all that was recorded,
/// the most specific first; where none does, of those that give single tensors of it; else
/// "numeric-error". Empty where no gradient failed. Beyond kMostGradientsTried weights only what
/// the numbers themselves show.
std::vector<std::string> diagnose_gradient(const GradientFindings& findings, int threads);

}  // namespace attn
