#pragma once

#include <functional>
#include <vector>

#include "check/cases/case_part.h"
#include "check/verdict/tolerance.h"

namespace attn {

/// What each part of an answer may differ, or how large it is.
struct AnswerLimits {
  Limits out, weights, scores, lse;
};

/// The rows whose honest errors set the limits of a case: all where that takes seconds, else blocks
/// of rows spread evenly over sequences, heads and positions, and those where the largest errors
/// were seen: a row is then never called wrong for an error that honest arithmetic makes there too.
/// What is left out could only have raised the limits.
class HonestSample {
 public:
  /// `wrong` are places (batch, head, row, ...) of the largest errors. `truth` is the answer to the
  /// whole where it is at hand. Source and truth must outlive this.
  HonestSample(const PartedCase& source, std::vector<CasePart> plan,
               const std::vector<std::vector<Index>>& wrong, bool maps,
               const AttentionAnswer* truth, int threads);

  /// Rows of all heads in the sample, and in the case.
  Index rows() const { return rows_; }
  Index all_rows() const { return all_rows_; }
  /// Multiplications of one honest answer to it.
  double work() const { return work_; }

  /// The limits of an answer in `dtype`: every honest order of operations is computed for it.
  /// `sizes` are the sizes of the whole truth. Calls done(work) as parts are finished.
  /// With `tf32` q, k and v are rounded to TF32 first, and what follows is f16's: weights of as
  /// many bits.
  AnswerLimits limits(DType dtype, bool tf32, bool round_scores, const AnswerLimits& sizes,
                      const std::function<void(double)>& done) const;

 private:
  void add_block(Index batch, Index head, Index block);
  void count();

  const PartedCase& source_;
  std::vector<CasePart> parts_;
  const bool maps_;
  const AttentionAnswer* truth_;
  const int threads_;
  Index rows_ = 0;
  Index all_rows_ = 0;
  double work_ = 0;
};

/// Multiplications of q.k and of the mix in a part, masks apart.
double work_of(const AttentionProblem& outline, const CasePart& part);

}  // namespace attn
