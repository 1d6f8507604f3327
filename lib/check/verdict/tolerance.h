#pragma once

#include <string>
#include <vector>

#include "check/reference/plain_attention.h"
#include "check/verdict/verdict.h"

namespace attn {

/// What an answer may differ from the float64 truth.
struct Limits {
  double max_error = 0;
  double mean_error = 0;
};

/// The part of the answer's own size that is always allowed: 1e-12 for f64, 1e-5 for f32, 2^-10
/// for f16, 2^-7 for bf16.
double tolerance_floor(DType dtype);

/// The type whose floor holds for these rules: TF32 has as many bits as f16.
DType tolerance_type(const AttentionRules& rules);

/// Half a unit in the last place, as a part of the number: 2^-24 for f32; 0 for types without
/// fractions.
double storage_rounding(DType type);

/// How one tensor differs from another of the same shape: NaN where the truth has NaN, infinities
/// equal, numbers near. Elements whose truth is NaN do not count in the mean.
struct Difference {
  double max_error = 0;  // infinite where the one is finite and the other is not
  double mean_error = 0;
  Index at = 0;  // of the first largest error, in row-major order
};
Difference difference(const Tensor<double>& given, const Tensor<double>& truth);

/// Errors of an honest answer, part by part; elements that are not finite in both do not count.
struct HonestSum {
  double largest = 0;
  double sum = 0;
  Index count = 0;

  void add(const Tensor<double>& honest, const Tensor<double>& truth);
};

/// 2 * (largest error of honest answers) + floor * max |truth|, and 2 * (largest of their mean
/// errors) + floor / 4 * mean |truth|. A truth of zeros alone must be met exactly.
/// Scaling by the size of the answer and not of the values, and testing the mean beside the
/// largest, is what shows a few wrongly counted keys among a thousand. The truth must outlive this.
class LimitFinder {
 public:
  /// `least_size` stands in for a smaller |truth|: 1 for logarithms, whose error is that of the
  /// number under them.
  LimitFinder(const Tensor<double>& truth, DType dtype, double least_size = 0);
  /// One more honest answer. Elements that are not finite in both do not count.
  void add(const Tensor<double>& honest);
  /// `times` the honest errors: 2 for answers, 3 for gradients (FlashAttention's own tests).
  Limits limits(double times = 2) const;

 private:
  const Tensor<double>& truth_;
  Limits size_;   // what the floor gives
  Limits error_;  // the largest so far
};

/// The same limits for an answer computed in `dtype` and kept in `stored`: a coarser type adds its
/// rounding of the truth.
Limits kept_in(DType stored, DType dtype, const Limits& limits, const Tensor<double>& truth);

/// The check `name` of one tensor against the truth.
Check compare(std::string name, const Tensor<double>& given, const Tensor<double>& truth,
              const Limits& allowed);

/// Largest and mean magnitude of the finite numbers of a tensor, part by part.
class SizeSum {
 public:
  void add(const Tensor<double>& part);
  Limits size() const;

 private:
  double largest_ = 0;
  double sum_ = 0;
  Index count_ = 0;
};

/// How one tensor differs from another (see Difference), part by part.
class DifferenceSum {
 public:
  /// `origin` is where the part's first element stands in the whole (missing axes: 0).
  void add(const Tensor<double>& given, const Tensor<double>& truth,
           const std::vector<Index>& origin);
  double max_error() const { return max_error_; }
  double mean_error() const;
  /// Of the first largest error.
  const std::vector<Index>& where() const { return where_; }
  Index values() const { return values_; }
  Metrics metrics() const { return metrics_.result(); }

 private:
  double max_error_ = 0;
  double sum_ = 0;
  Index count_ = 0;
  Index values_ = 0;
  std::vector<Index> where_;
  MetricsSum metrics_;
};

/// Errors of several honest answers, part by part: what limits are made of.
class HonestErrors {
 public:
  /// The answer number `order` of one part. Elements that are not finite in both do not count.
  void add(std::size_t order, const Tensor<double>& honest, const Tensor<double>& truth);
  /// The limits as LimitFinder has them, for a truth of this size.
  Limits limits(DType dtype, const Limits& size, double least_size = 0) const;

 private:
  std::vector<HonestSum> orders_;
};

/// kept_in for a truth of this size.
Limits kept_in(DType stored, DType dtype, const Limits& limits, const Limits& size);

/// The check `name` of what was collected.
Check compare(std::string name, const DifferenceSum& found, const Limits& allowed);

/// Index of an element: (batch, head, row, column) for four axes.
std::vector<Index> place_of(Index at, const Shape& shape);

}  // namespace attn
