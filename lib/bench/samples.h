#pragma once

#include <cstdint>
#include <vector>

#include "core/index.h"

namespace attn {

/// Repeated measurements of one thing, all kept: what is printed is computed from them, and who
/// wants another statistic has the numbers. Times in nanoseconds, but any count will do.
class Samples {
 public:
  Samples() = default;
  explicit Samples(std::vector<std::int64_t> values) : values_(std::move(values)) {}

  void add(std::int64_t value) { values_.push_back(value); }
  Index count() const { return static_cast<Index>(values_.size()); }
  /// In the order in which they were measured.
  const std::vector<std::int64_t>& values() const { return values_; }

  /// These answer NaN where there is nothing to compute from.
  double minimum() const;
  double median() const { return quantile(0.5); }
  /// Linear between the two neighbours in rank, as NumPy's default (Hyndman & Fan 1996, type 7).
  double quantile(double fraction) const;
  /// Third quartile minus first: the width of the middle half.
  double iqr() const { return quantile(0.75) - quantile(0.25); }
  /// iqr / median: the spread that a warning is made of.
  double relative_iqr() const { return iqr() / median(); }

 private:
  std::vector<std::int64_t> values_;
};

}  // namespace attn
