#pragma once

#include "check/reference/reference_attention.h"

namespace attn {

/// The library's own kernel (ops/attend, float32) on a problem, as a second opinion beside the
/// reference and as what the tools compute with. Maps where wanted. Same bits for every number of
/// threads.
AttentionAnswer fast_attention(const AttentionProblem& problem, bool maps, int threads);

}  // namespace attn
