#pragma once

#include <string>

#include "check/reference/attention_problem.h"

namespace attn {

/// The rules a problem meets under in one line, without those that are off:
/// "f32, scale 0.125, causal, window left 3, boolean mask".
std::string rules_text(const AttentionProblem& problem);

}  // namespace attn
