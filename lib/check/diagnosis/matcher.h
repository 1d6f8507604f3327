#pragma once

#include <string>
#include <vector>

#include "check/diagnosis/diagnose.h"
#include "check/diagnosis/subject.h"
#include "check/mistakes/suppositions.h"

namespace attn {

/// Holds suppositions against a subject. A supposition is first tried on a few rows, those that
/// are off the most among them: most are given up there.
class Matcher {
 public:
  Matcher(const Findings& findings, const Subject& subject);

  enum class Fit { kNo, kSubject, kAll };  // of nothing, of the subject, of all that was recorded

  Fit fit(const Supposition& supposed) const;
  /// The same for a problem that another mistake has changed already.
  Fit fit(const AttentionProblem& problem, const Supposition& supposed) const;
  /// Mean error on the tried rows, each no more than the size of the answer.
  double distance(const AttentionProblem& seen, Twist twist, double parameter) const;

  /// The same on some rows of one head alone.
  double distance_of_head(const AttentionProblem& seen, Index h) const;

  /// "rows (0, 1, 3), (0, 1, 4)": the rows (batch, head, row) that a supposition moves; the first
  /// of them where they are many.
  std::string moved_rows(const Supposition& supposed) const;

 private:
  struct Row {
    Index b, h, i;
  };

  const Tensor<double>& truth() const;
  void choose_rows();
  double mean_error(const AttentionProblem& seen, const TwistedAttention& twisted,
                    const std::vector<Row>& rows) const;
  bool hopeless(const AttentionProblem& seen, const TwistedAttention& twisted) const;
  double row_error(const AttentionProblem& seen, const TwistedAttention& twisted, const Row& row,
                   AttentionRow& expected) const;
  void forgive_dead_rows(const AttentionProblem& seen, AttentionAnswer& answer) const;
  void forgive_dead_row(const AttentionProblem& seen, const Row& row, const double* given,
                        double* expected, Index count) const;
  Limits honest(const AttentionProblem& seen, const Tensor<double>& expected) const;
  bool explains_the_rest(const AttentionAnswer& answer) const;

  const Findings& findings_;
  const Subject& subject_;
  double truth_size_ = 0;
  double too_far_ = 0;
  double truth_ratio_ = 0;  // how far off the truth is, in limits
  std::vector<Row> rows_;
};

}  // namespace attn
