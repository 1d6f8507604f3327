#include "check/verdict/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// joint / sqrt(a * b) for two that are `equal` or not; rounding leaves no more than 1.
double correlation(double joint, double a, double b, bool equal) {
  if (equal) return 1;
  const double size = std::sqrt(a) * std::sqrt(b);
  if (!(size > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::clamp(joint / size, -1.0, 1.0);
}

}  // namespace

void MetricsSum::add(double given, double truth) {
  if (!std::isfinite(given) || !std::isfinite(truth)) {
    const bool same = given == truth || (std::isnan(given) && std::isnan(truth));
    if (!same) torn_ = true;
    ++not_finite_;
    return;
  }
  const double error = given - truth;
  squared_error_ += error * error;
  given_squared_ += given * given;
  truth_squared_ += truth * truth;
  product_ += given * truth;
  if (error != 0) max_relative_ = std::max(max_relative_, std::abs(error) / std::abs(truth));
  ++count_;
  const double share = 1 / static_cast<double>(count_);
  const double given_step = given - given_mean_;
  const double truth_step = truth - truth_mean_;
  given_mean_ += given_step * share;
  truth_mean_ += truth_step * share;
  given_moment_ += given_step * (given - given_mean_);
  truth_moment_ += truth_step * (truth - truth_mean_);
  joint_moment_ += given_step * (truth - truth_mean_);
}

Metrics MetricsSum::result() const {
  Metrics found;
  found.not_finite = not_finite_;
  const bool equal = squared_error_ == 0;
  if (!equal) found.nmse = truth_squared_ > 0 ? squared_error_ / truth_squared_ : kInfinity;
  found.cosine = correlation(product_, given_squared_, truth_squared_, equal);
  found.pearson = correlation(joint_moment_, given_moment_, truth_moment_, equal);
  found.max_relative = max_relative_;
  if (torn_) found.nmse = found.max_relative = kInfinity;
  return found;
}

Metrics metrics(const Tensor<double>& given, const Tensor<double>& truth) {
  require_shape(given.shape == truth.shape, "metrics: the shapes differ");
  MetricsSum sum;
  for (std::size_t n = 0; n < truth.values.size(); ++n) {
    sum.add(given.values[n], truth.values[n]);
  }
  return sum.result();
}

}  // namespace attn
