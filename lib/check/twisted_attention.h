#pragma once

#include "check/reference_attention.h"

namespace attn {

/// A step that a mistaken implementation takes differently from the reference. `parameter` is what
/// a kind says it is.
enum class Twist {
  kNone,
  kSoftcapAfterMask,    // the cap turns minus infinity into minus the cap
  kRawScoresInF16,      // q.k is rounded to binary16 before it is scaled
  kSoftmaxOverQueries,  // columns sum to 1
  kSoftmaxOverHeads,    // each place sums to 1 over the heads
  kSoftmaxOverMatrix,   // one softmax over all rows and keys of a head
  kSoftmaxOverAll,      // one softmax over everything
  kNoDivision,          // exp(score - largest) without the division by the sum
  kNoMaxSubtraction,    // exp(score) in float32: overflows and underflows
  kMaskAfterSoftmax,    // hidden weights set to 0 without normalising again
  kHiddenByNumber,      // hidden scores are `parameter` and not minus infinity
  kHiddenByAddition,    // hidden scores have `parameter` added
  kMeanWhereDead,       // rows that see nothing give the mean of all values
  kForgottenRescale,    // online softmax over tiles of `parameter` keys that keeps old sums as they
                        // are when the maximum rises
  kForgottenOutRescale,  // the same for the output's sums alone
  kOutStoredByRows,      // (rows, heads) order written into a (heads, rows) array
  kHeadsAsRows,          // all tensors read and written with heads and rows exchanged, where
                         // their shapes and the rules allow it
};

/// The answer of an implementation with that mistake, in float64. For diagnosis: it takes
/// q_len * kv_len numbers a head.
AttentionAnswer twisted_attention(const AttentionProblem& problem, Twist twist, double parameter,
                                  int threads);

}  // namespace attn
