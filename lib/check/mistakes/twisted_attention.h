#pragma once

#include "check/reference/attention_row.h"
#include "check/reference/reference_attention.h"

namespace attn {

/// A step that a mistaken implementation takes differently from the reference. `parameter` is what
/// a kind says it is.
enum class Twist {
  kNone,
  // Row by row (twisted_rows.cpp)
  kSoftcapAfterMask,  // the cap turns minus infinity into minus the cap; with parameter 1 not
                      // that of padding and other sequences
  kSoftcapAfterBias,  // the cap bends what is added to the scores too; hidden keys stay hidden
  kRawScoresInF16,    // q.k is rounded to binary16 before it is scaled
  kNoDivision,        // exp(score - largest), or with parameter 1 exp(score), undivided
  kNoMaxSubtraction,  // exp(score) in floats of `parameter` bits overflows and underflows
  kMaskAfterSoftmax,  // hidden weights set to 0 without normalising again; with parameter 1 those
                      // that the mask hides, 2 those of later keys, 3 those beyond the window, and
                      // the rest in time
  kHiddenByNumber,    // hidden scores are `parameter` and not minus infinity
  kHiddenByAddition,  // hidden scores have `parameter` added
  kLaterByNumber,     // the same two where causality hides, and elsewhere minus infinity
  kLaterByAddition,
  kMaskedByNumber,  // and where the mask does
  kMaskedByAddition,
  kHiddenTimesZero,   // hidden values are multiplied by 0, which a NaN survives
  kPaddingByNumber,   // scores of keys beyond the length are `parameter`
  kCausalAdded,       // 1 is added where causality lets a query see, and nothing is hidden by it
  kMeanWhereDead,     // rows that see nothing give the mean of the values up to the length, or
                      // with parameter 1 of all values
  kForgottenRescale,  // online softmax over tiles of `parameter` keys that keeps old sums as they
                      // are when the maximum rises
  kForgottenOutRescale,  // the same for the output's sums alone
  kForgottenSumRescale,  // the same for the denominator alone
  kTilesOwnMaximum,      // each tile takes its own maximum away and no other
  kTilesAveraged,        // each tile's softmax by itself, then the mean over tiles
  kSinkUnshifted,        // exp(sink) joins a sum that the largest score was taken from
  kQueriesUnwritten,     // rows from `parameter` on are 0
  kFeaturesUnwritten,    // columns of out from `parameter` on are 0
  // All rows at once (twisted_attention.cpp)
  kSoftmaxOverQueries,   // columns sum to 1
  kSoftmaxOverHeads,     // each place sums to 1 over the heads
  kSoftmaxOverBatch,     // each place sums to 1 over the sequences
  kSoftmaxOverMatrix,    // one softmax over all rows and keys of a head
  kSoftmaxOverSequence,  // one softmax over all heads, rows and keys of a sequence
  kSoftmaxOverAll,       // one softmax over everything
  kOutStoredByRows,      // (rows, heads) order written into a (heads, rows) array
  kOutStoredByHeads,     // (heads, rows) order written into a (rows, heads) array
  kHeadsAsRows,          // all tensors read and written with heads and rows exchanged, where
                         // their shapes and the rules allow it
};

/// The answer of an implementation with that mistake, in float64; for diagnosis. The problem must
/// outlive it.
class TwistedAttention {
 public:
  TwistedAttention(const AttentionProblem& problem, Twist twist, double parameter);

  /// Does a row of the answer depend on no other row?
  bool by_rows() const;
  /// One row; only where by_rows().
  void row(Index b, Index h, Index i, AttentionRow& row) const;
  /// All rows with their maps: q_len * kv_len numbers a head.
  AttentionAnswer all(int threads) const;

 private:
  void weigh_tiles(double sink, AttentionRow& row) const;

  const AttentionProblem& problem_;
  const Twist twist_;
  const double parameter_;
  AttentionProblem changed_;  // what the twisted step sees: without masks, without the cap ...
};

AttentionAnswer twisted_attention(const AttentionProblem& problem, Twist twist, double parameter,
                                  int threads);

}  // namespace attn
