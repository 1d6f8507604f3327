#pragma once

#include <functional>
#include <string>
#include <vector>

#include "check/mistakes/twisted_gradient.h"

namespace attn {

/// A known mistake in a backward pass.
struct GradientSupposition {
  std::vector<std::string> names;  // most specific first
  std::string detail;              // what distinguishes it from others of the name; may be empty
  std::function<AttentionGradient()> answer;
};

/// All that can be supposed of the backward pass of a problem, the most specific first. First come
/// mistakes in its own steps. Then each mistake of suppositions(), made when weights are computed
/// again: "NAME-in-backward" and, for whoever looks for it there, NAME; where `forward_too`,
/// because the recorded out holds the same mistake, only NAME. `truth` is the right gradient. The
/// arguments must outlive the result.
std::vector<GradientSupposition> gradient_suppositions(const AttentionProblem& problem,
                                                       const Tensor<double>& d_out,
                                                       const AttentionGradient& truth,
                                                       bool forward_too);

}  // namespace attn
