#pragma once

#include "check/reference/attention_problem.h"

namespace attn {

/// a . b over `count` numbers, in float64.
double dot(const double* a, const double* b, Index count);

/// cap * tanh(score / cap), or the score where the cap is 0 (off).
double capped(double score, double cap);

/// scale * q.k of query row i and key j of batch element b and query head h.
double raw_score(const AttentionProblem& problem, Index b, Index h, Index i, Index j);

/// What is added to a capped score: ALiBi's share, -slope * |position - j|, and an additive mask's.
/// `position` is where the query stands among the keys (sight_of).
double score_bias(const AttentionProblem& problem, Index b, Index h, Index i, Index j,
                  Index position);

}  // namespace attn
