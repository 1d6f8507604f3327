#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"

namespace attn {

/// The error on one stretch of an axis.
struct ErrorShare {
  Index first = 0;
  Index end = 0;         // one after the last
  double share = 0;      // of the sum of all errors
  double max_error = 0;  // infinite where a NaN or an infinity stands in the way
  Index wrong = 0;       // numbers off by more than the limit
  Index count = 0;       // all numbers
};

/// Where the error of one tensor sits along one of its axes.
struct AxisErrors {
  std::string axis;  // "sequence", "head", "query", "key", "feature"
  std::vector<ErrorShare> shares;
};

/// Where an error sits: by sequence, head, band of rows, tile of keys or feature. An axis of one
/// stretch is left out: there is nothing to tell it from.
struct ErrorSummary {
  std::string tensor;  // "out", "weights", "scores"
  Index wrong = 0;     // numbers off by more than the limit
  Index count = 0;
  std::vector<AxisErrors> axes;
};

/// Summary of given against truth, both (batch, heads, rows, columns); columns are features of
/// "out" and keys of every other tensor. Where some numbers are not finite the shares are of those
/// alone: a NaN has no size.
ErrorSummary summarise_error(const std::string& tensor, const Tensor<double>& given,
                             const Tensor<double>& truth, double limit);

}  // namespace attn
