#pragma once

#include <optional>
#include <vector>

#include "check/reference/attention_problem.h"
#include "check/verdict/verdict.h"

namespace attn {

/// The check "finite-inputs", failed at the first NaN or infinity of q, k or v that is read; none
/// where all are numbers: finite inputs say nothing about what was made of them. `origin` is where
/// (batch, head, row) of the problem start in the whole.
std::optional<Check> check_inputs(const AttentionProblem& problem,
                                  const std::vector<Index>& origin);

}  // namespace attn
