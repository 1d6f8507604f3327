#include "check/tolerance.h"

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

struct Size {
  double max = 0;
  double mean = 0;
};

Size size_of(const Tensor<double>& truth) {
  Size size;
  Index count = 0;
  for (double value : truth.values) {
    if (!std::isfinite(value)) continue;
    size.max = std::max(size.max, std::abs(value));
    size.mean += std::abs(value);
    ++count;
  }
  if (count > 0) size.mean /= static_cast<double>(count);
  return size;
}

// As difference(), over the elements that are finite in both.
Size honest_error(const Tensor<double>& honest, const Tensor<double>& truth) {
  Size error;
  Index count = 0;
  for (std::size_t n = 0; n < truth.values.size(); ++n) {
    const double one = std::abs(honest.values[n] - truth.values[n]);
    if (!std::isfinite(one)) continue;
    error.max = std::max(error.max, one);
    error.mean += one;
    ++count;
  }
  if (count > 0) error.mean /= static_cast<double>(count);
  return error;
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

Limits limits(const Tensor<double>& truth, const std::vector<Tensor<double>>& honest, DType dtype,
              double least_size) {
  Size error;
  for (const Tensor<double>& answer : honest) {
    require_shape(answer.shape == truth.shape, "limits: the shapes differ");
    const Size one = honest_error(answer, truth);
    error.max = std::max(error.max, one.max);
    error.mean = std::max(error.mean, one.mean);
  }
  Size size = size_of(truth);
  size.max = std::max(size.max, least_size);
  size.mean = std::max(size.mean, least_size);
  const double floor = tolerance_floor(dtype);
  return {2 * error.max + floor * size.max, 2 * error.mean + floor / 4 * size.mean};
}

Check compare(std::string name, const Tensor<double>& given, const Tensor<double>& truth,
              const Limits& allowed) {
  const Difference found = difference(given, truth);
  Check check;
  check.name = std::move(name);
  check.max_error = found.max_error;
  check.limit = allowed.max_error;
  check.mean_error = found.mean_error;
  check.mean_limit = allowed.mean_error;
  const bool near = found.max_error <= allowed.max_error && found.mean_error <= allowed.mean_error;
  check.outcome = near ? Outcome::kPass : Outcome::kFail;
  if (given.size() > 0) check.where = place_of(found.at, given.shape);
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
