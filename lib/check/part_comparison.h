#pragma once

#include <utility>
#include <vector>

#include "check/cases/attention_case.h"
#include "check/cases/honest_limits.h"
#include "check/verdict/tolerance.h"
#include "check/verdict/verdict.h"

namespace attn {

/// What was recorded, and what the kernel gives, against the float64 truth: fed part by part, its
/// checks are of the whole.
class PartComparison {
 public:
  /// `outline` says what was recorded, and must outlive this. With `kernel_maps` the kernel's
  /// weights and scores are compared as well.
  PartComparison(const AttentionCase& outline, bool kernel_maps, int threads);

  /// One part that starts at `origin` in the whole: as recorded, by the reference, by the kernel.
  void add(const AttentionCase& recorded, const AttentionAnswer& truth,
           const AttentionAnswer& kernel, const std::vector<Index>& origin);

  /// How large the truth is.
  AnswerLimits sizes() const;
  /// Where the largest errors sit, as HonestSample wants them: of out in the worst parts, of lse,
  /// and the kernel's.
  std::vector<std::vector<Index>> worst_places() const;

  /// The check of out; like those of the others, not checked where nothing was recorded.
  Check check_out(const Limits& allowed) const;
  /// The checks of weights, scores and lse.
  std::vector<Check> check_others(const AnswerLimits& allowed) const;
  /// The checks of the kernel's answer.
  std::vector<Check> check_kernel(const AnswerLimits& allowed) const;

  /// Where the largest error of one tensor sits, and the largest number of its truth.
  struct Worst {
    std::vector<Index> where;
    double truth_size = 0;
  };
  /// Of the first record that failed in `verdict`; of lse where none of the others did.
  Worst worst_of_failed(const Verdict& verdict) const;

 private:
  // What is known of one record when all parts have been seen.
  struct Compared {
    DifferenceSum difference;
    SizeSum size;  // of the truth
  };

  void add_recorded(const AttentionCase& recorded, const AttentionAnswer& truth,
                    const std::vector<Index>& origin);
  void add_scores(const AttentionCase& recorded, const AttentionAnswer& truth,
                  const std::vector<Index>& origin);
  void add_kernel(const AttentionAnswer& kernel, const AttentionAnswer& truth,
                  const std::vector<Index>& origin);
  Check check_scores(const Limits& allowed) const;

  const AttentionCase& outline_;
  const bool kernel_maps_;
  const int threads_;
  Compared out_, weights_, scores_, early_scores_, lse_;
  DifferenceSum kernel_out_, kernel_lse_, kernel_weights_, kernel_scores_;
  bool sentinel_ = false;                                     // finite numbers hide scores
  std::vector<std::pair<double, std::vector<Index>>> wrong_;  // each part's largest error of out
};

}  // namespace attn
