#pragma once

#include "core/tensor.h"

namespace attn {

/// How near one tensor is to another, by the measures that projects use beside the largest error.
struct Metrics {
  /// Sum of squared errors by the sum of squares of the truth.
  double nmse = 0;
  /// Of the angle between the two as vectors; 1 where both are zero, NaN where one is.
  double cosine = 1;
  /// Correlation of the two after their means were taken off; NaN where one of them is constant
  /// and the two differ, 1 where they do not.
  double pearson = 1;
  /// Largest |error| / |truth|; infinite where the truth is 0 and the other is not.
  double max_relative = 0;
  /// Elements that are not finite in both. They do not count, unless one of the two is finite:
  /// then nmse and max_relative are infinite.
  Index not_finite = 0;
};

/// The measures of pairs of numbers that come one by one.
class MetricsSum {
 public:
  void add(double given, double truth);
  Metrics result() const;

 private:
  Index count_ = 0;
  Index not_finite_ = 0;
  bool torn_ = false;  // finite on one side alone
  double squared_error_ = 0;
  double given_squared_ = 0, truth_squared_ = 0, product_ = 0;
  // Means, and moments about them (Welford 1962): sums of squares would cancel.
  double given_mean_ = 0, truth_mean_ = 0;
  double given_moment_ = 0, truth_moment_ = 0, joint_moment_ = 0;
  double max_relative_ = 0;
};

/// The measures of two tensors of one shape.
Metrics metrics(const Tensor<double>& given, const Tensor<double>& truth);

}  // namespace attn
