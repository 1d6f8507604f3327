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

/// Names of the known mistakes under each of which the backward pass gives all that was recorded,
/// the most specific first; where none does, of those that give single tensors of it; else
/// "numeric-error". Empty where no gradient failed.
std::vector<std::string> diagnose_gradient(const GradientFindings& findings, int threads);

}  // namespace attn
