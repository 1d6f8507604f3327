#pragma once

#include <cstdint>

#include "check/check_attention.h"

namespace attn {

/// Tokens and what is made of them: q = x Wq and so on.
struct AttentionExample {
  Tensor<double> x;  // (tokens, dim)
  AttentionProblem problem;
};

/// Three tokens (1, 0), (0, 1), (1, 1) whose projections are the identity: q = k = v = x. Small
/// enough to be checked by hand.
AttentionExample three_token_example();

/// Standard normal tokens of 8 features under random projections (normal, of variance 1/8, so that
/// q, k and v have the size of x); one head. The same for a seed on every machine.
AttentionExample random_example(Index tokens, std::uint64_t seed);

/// An example computed by the library's kernel as if somebody had recorded it, open and under a
/// causal mask, with what the laws and the reference say of it.
struct ExampleRun {
  AttentionCase open;
  AttentionCase causal;
  Verdict verdict;  // the tutorial's three laws first, then equality with the reference
};
ExampleRun check_example(const AttentionExample& example);

}  // namespace attn
