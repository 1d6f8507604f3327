#include "check/verdict/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.h"

namespace attn {

namespace {

double gap(double given, double truth) {
  if (std::isnan(truth) && std::isnan(given)) return 0;
  if (given == truth) return 0;  // infinities of one sign among them
  const double error = std::abs(given - truth);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

Limits size_of(const Tensor<double>& truth) {
  SizeSum size;
  size.add(truth);
  return size.size();
}

}  // namespace

double tolerance_floor(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 1e-12;
    case DType::kF32:
      return 1e-5;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      throw ShapeError("tolerance: only f64, f32, f16 and bf16 have one");
  }
}

DType tolerance_type(const AttentionRules& rules) {
  return rules.tf32 ? DType::kF16 : rules.dtype;
}

double storage_rounding(DType type) {
  switch (type) {
    case DType::kF64:
      return 0x1p-53;
    case DType::kF32:
      return 0x1p-24;
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    default:
      return 0;
  }
}

Difference difference(const Tensor<double>& given, const Tensor<double>& truth) {
  require_shape(given.shape == truth.shape, "difference: the shapes differ");
  Difference result;
  double sum = 0;
  Index count = 0;
  for (std::size_t n = 0; n < truth.values.size(); ++n) {
    const double error = gap(given.values[n], truth.values[n]);
    if (error > result.max_error) {
      result.max_error = error;
      result.at = static_cast<Index>(n);
    }
    if (std::isnan(truth.values[n])) continue;
    sum += error;
    ++count;
  }
  if (count > 0) result.mean_error = sum / static_cast<double>(count);
  return result;
}

void HonestSum::add(const Tensor<double>& honest, const Tensor<double>& truth) {
  require_shape(honest.shape == truth.shape, "limits: the shapes differ");
  for (std::size_t n = 0; n < truth.values.size(); ++n) {
    const double error = std::abs(honest.values[n] - truth.values[n]);
    if (!std::isfinite(error)) continue;
    largest = std::max(largest, error);
    sum += error;
    ++count;
  }
}

LimitFinder::LimitFinder(const Tensor<double>& truth, DType dtype, double least_size)
    : truth_(truth) {
  const Limits size = size_of(truth);
  const double floor = tolerance_floor(dtype);
  size_ = {floor * std::max(size.max_error, least_size),
           floor / 4 * std::max(size.mean_error, least_size)};
}

void LimitFinder::add(const Tensor<double>& honest) {
  HonestSum errors;
  errors.add(honest, truth_);
  error_.max_error = std::max(error_.max_error, errors.largest);
  if (errors.count == 0) return;
  error_.mean_error = std::max(error_.mean_error, errors.sum / static_cast<double>(errors.count));
}

Limits LimitFinder::limits(double times) const {
  return {times * error_.max_error + size_.max_error, times * error_.mean_error + size_.mean_error};
}

Limits kept_in(DType stored, DType dtype, const Limits& limits, const Tensor<double>& truth) {
  return kept_in(stored, dtype, limits, size_of(truth));
}

Check compare(std::string name, const Tensor<double>& given, const Tensor<double>& truth,
              const Limits& allowed) {
  DifferenceSum found;
  found.add(given, truth, {});
  return compare(std::move(name), found, allowed);
}

void SizeSum::add(const Tensor<double>& part) {
  for (double value : part.values) {
    if (!std::isfinite(value)) continue;
    largest_ = std::max(largest_, std::abs(value));
    sum_ += std::abs(value);
    ++count_;
  }
}

Limits SizeSum::size() const {
  return {largest_, count_ > 0 ? sum_ / static_cast<double>(count_) : 0};
}

void DifferenceSum::add(const Tensor<double>& given, const Tensor<double>& truth,
                        const std::vector<Index>& origin) {
  require_shape(given.shape == truth.shape, "difference: the shapes differ");
  Index at = -1;
  for (std::size_t n = 0; n < truth.values.size(); ++n) {
    const double error = gap(given.values[n], truth.values[n]);
    metrics_.add(given.values[n], truth.values[n]);
    if (error > max_error_) {
      max_error_ = error;
      at = static_cast<Index>(n);
    }
    if (std::isnan(truth.values[n])) continue;
    sum_ += error;
    ++count_;
  }
  values_ += given.size();
  if (given.size() == 0) return;
  if (at < 0 && !where_.empty()) return;
  where_ = place_of(std::max<Index>(at, 0), given.shape);
  for (std::size_t axis = 0; axis < std::min(where_.size(), origin.size()); ++axis) {
    where_[axis] += origin[axis];
  }
}

double DifferenceSum::mean_error() const {
  return count_ > 0 ? sum_ / static_cast<double>(count_) : 0;
}

void HonestErrors::add(std::size_t order, const Tensor<double>& honest,
                       const Tensor<double>& truth) {
  if (orders_.size() <= order) orders_.resize(order + 1);
  orders_[order].add(honest, truth);
}

Limits HonestErrors::limits(DType dtype, const Limits& size, double least_size) const {
  const double floor = tolerance_floor(dtype);
  Limits honest;
  for (const HonestSum& sum : orders_) {
    honest.max_error = std::max(honest.max_error, sum.largest);
    if (sum.count == 0) continue;
    honest.mean_error = std::max(honest.mean_error, sum.sum / static_cast<double>(sum.count));
  }
  return {2 * honest.max_error + floor * std::max(size.max_error, least_size),
          2 * honest.mean_error + floor / 4 * std::max(size.mean_error, least_size)};
}

Limits kept_in(DType stored, DType dtype, const Limits& limits, const Limits& size) {
  const double unit = storage_rounding(stored);
  if (unit <= storage_rounding(dtype)) return limits;
  return {limits.max_error + unit * size.max_error, limits.mean_error + unit * size.mean_error};
}

Check compare(std::string name, const DifferenceSum& found, const Limits& allowed) {
  Check check;
  check.name = std::move(name);
  if (found.values() == 0) {
    check.note = "no values";  // agreeing about nothing is no agreement
    return check;
  }
  check.max_error = found.max_error();
  check.limit = allowed.max_error;
  check.mean_error = found.mean_error();
  check.mean_limit = allowed.mean_error;
  const bool near = check.max_error <= allowed.max_error && check.mean_error <= allowed.mean_error;
  check.outcome = near ? Outcome::kPass : Outcome::kFail;
  check.where = found.where();
  check.metrics = found.metrics();
  return check;
}

std::vector<Index> place_of(Index at, const Shape& shape) {
  std::vector<Index> place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    place[axis] = at % shape[axis];
    at /= shape[axis];
  }
  return place;
}

}  // namespace attn
