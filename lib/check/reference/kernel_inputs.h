#pragma once

#include <cstdint>
#include <vector>

#include "check/reference/attention_problem.h"
#include "ops/attend.h"

namespace attn {

/// A run of queries and the keys they can meet: a sequence of its own, or one of several packed.
struct KernelSpan {
  Index first_query, queries, first_key, keys;
  Index offset;  // position of the first query among the keys
};

/// The spans of sequence b that have queries.
std::vector<KernelSpan> kernel_spans(const AttentionProblem& problem, Index b);

/// (heads, rows, features) of one sequence as float32 (rows, heads * features), the kernel's form.
std::vector<float> side_by_side(const double* from, Index heads, Index rows, Index features);

/// One sequence of a problem in float32, laid out for ops/attend. The problem must outlive it.
class KernelSequence {
 public:
  KernelSequence(const AttentionProblem& problem, Index b);

  Index b() const { return b_; }
  const AttentionProblem& problem() const { return problem_; }
  const HeadShape& shape() const { return shape_; }
  Matrix<const float> q(const KernelSpan& span) const;
  Matrix<const float> k(const KernelSpan& span) const;
  Matrix<const float> v(const KernelSpan& span) const;
  AttendMask<float> mask(const KernelSpan& span) const;

 private:
  void take_mask();
  template <class T>
  ScoreGrid<T> grid(const std::vector<T>& table, const KernelSpan& span) const;

  const AttentionProblem& problem_;
  const Index b_;
  const HeadShape shape_;
  std::vector<float> q_;
  const std::vector<float> k_, v_, slopes_, sinks_;
  std::vector<float> bias_;
  std::vector<std::uint8_t> allowed_;
  Index head_stride_ = 0, row_stride_ = 0, col_stride_ = 0;
};

}  // namespace attn
