#pragma once

#include <vector>

#include "check/reference/attention_problem.h"

namespace attn {

/// How far scores have come: scaled q.k; soft-capped too; with bias, mask and window as well.
enum class ScoreStage { kRaw, kSoftcapped, kMasked };

/// What an attention gives. Maps are wanted or empty (rank 0).
struct AttentionAnswer {
  Tensor<double> out;      // (batch, heads, q_len, value_dim)
  Tensor<double> lse;      // (batch, heads, q_len) natural log of the softmax's denominator
  Tensor<double> weights;  // (batch, heads, q_len, kv_len); hidden keys exactly 0
  Tensor<double> scores;   // (batch, heads, q_len, kv_len); hidden keys minus infinity
};

/// Attention by the definition (Vaswani et al. 2017, eq. 1), in float64 and plain loops, with no
/// code of the fast kernel's:
///   s = scale * q.k;  s = softcap * tanh(s / softcap);  s += -slope * |p - j| + additive mask;
///   weights = exp(s - max) / (sum of exp(s - max) + exp(sink - max)) over the keys that are seen;
///   out = sum of weights * v over those keys.
/// Hidden keys and values are never read. A row without keys gives 0, or NaN where the rules say
/// so, and a log-sum-exp of minus infinity. The problem must be valid. Maps take q_len * kv_len
/// numbers a head; without them memory is linear in q_len and kv_len. Same bits for every number of
/// threads.
AttentionAnswer reference_attention(const AttentionProblem& problem, bool maps, int threads);

/// Scores at an earlier stage, for every key that is not padding and in the same packed sequence,
/// hidden or not; NaN elsewhere. (batch, heads, q_len, kv_len)
Tensor<double> reference_scores(const AttentionProblem& problem, ScoreStage stage, int threads);

}  // namespace attn
