#pragma once

#include "check/reference/reference_attention.h"

namespace attn {

/// Honest ways to arrange the same sums. Their rounding differs, and none is more right.
enum class PlainOrder {
  kScoresScaled,   // scale after q.k, one running sum
  kQueriesScaled,  // scale q first, eight partial sums
  kBothScaled,     // the root of the scale on q and on k
  kTiled,          // running maximum and sum over tiles of keys
};
inline constexpr PlainOrder kPlainOrders[] = {PlainOrder::kScoresScaled, PlainOrder::kQueriesScaled,
                                              PlainOrder::kBothScaled, PlainOrder::kTiled};

/// Attention as an ordinary implementation in `dtype` computes it: inputs as stored, sums in
/// float32 (float64 for f64), weights and out rounded to `dtype`. With `round_scores`, as where
/// each step is a tensor of that type, scores and the scaled q and k are rounded too.
/// How far this is from reference_attention says how far an honest implementation may be.
/// dtype is one of f64, f32, f16, bf16.
AttentionAnswer plain_attention(const AttentionProblem& problem, DType dtype, PlainOrder order,
                                bool round_scores, bool maps, int threads);

}  // namespace attn
