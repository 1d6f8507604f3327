#include "check/verdict/houses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "check/reference/plain_attention.h"
#include "check/verdict/metrics.h"
#include "core/dtype.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGgmlNmse = 5e-4;

constexpr std::array<std::pair<std::string_view, House>, 9> kNames = {{
    {"ours", House::kOurs},
    {"pytorch", House::kPytorch},
    {"flash", House::kFlash},
    {"ggml", House::kGgml},
    {"xformers", House::kXformers},
    {"onnx", House::kOnnx},
    {"cudnn", House::kCudnn},
    {"mlx", House::kMlx},
    {"pcc", House::kPcc},
}};

// An absolute and a relative tolerance for each type that has one; f64 is held to that of f32
// where a house has none for it.
struct Pair {
  double atol, rtol;
};

Pair by_type(DType dtype, Pair f32, Pair f16, Pair bf16) {
  if (dtype == DType::kF16) return f16;
  return dtype == DType::kBF16 ? bf16 : f32;
}

// test_transformers.py, default_atol and default_rtol; its math path lets out differ four times.
constexpr double kPytorchFudge = 4;
Pair pytorch_defaults(DType dtype) {
  if (dtype == DType::kF64) return {1e-7, 1e-7};
  return by_type(dtype, {1e-5, 1.3e-6}, {1e-3, 1e-3}, {1e-3, 1.6e-2});
}

// xformers' forward pass.
Pair xformers_pair(DType dtype) {
  return by_type(dtype, {3e-4, 2e-5}, {4e-3, 4e-4}, {2e-2, 5e-3});
}

Pair mlx_pair(DType dtype) {
  return by_type(dtype, {1e-5, 1e-5}, {3e-4, 3e-4}, {5e-3, 5e-3});
}

bool both_nan(double a, double b) {
  return std::isnan(a) && std::isnan(b);
}

double error_of(double given, double truth) {
  if (given == truth || both_nan(given, truth)) return 0;
  const double error = std::abs(given - truth);
  return std::isnan(error) ? kInfinity : error;
}

// Of elements that are finite in both: a NaN of the plain reference is no measure.
double largest_error(const Tensor<double>& plain, const Tensor<double>& truth) {
  double largest = 0;
  for (std::size_t n = 0; n < truth.values.size(); ++n) {
    const double error = std::abs(plain.values[n] - truth.values[n]);
    if (std::isfinite(error)) largest = std::max(largest, error);
  }
  return largest;
}

// Keys scaled and rounded first, so that the score is their product: the order of operations of
// FlashAttention's reference in the type.
AttentionProblem with_scaled_keys(const AttentionProblem& problem, DType dtype) {
  AttentionProblem scaled = problem;
  const double scale = problem.scale();
  for (double& value : scaled.k.values) {
    const auto product = static_cast<float>(value * scale);
    switch (dtype) {
      case DType::kF16:
        value = f16_to_float(float_to_f16(product));
        break;
      case DType::kBF16:
        value = bf16_to_float(float_to_bf16(product));
        break;
      case DType::kF64:
        value *= scale;
        break;
      default:
        value = product;
    }
  }
  scaled.rules.scale = 1;
  return scaled;
}

}  // namespace

std::optional<HouseRule> parse_house(std::string_view word) {
  constexpr std::string_view kPcc = "pcc=";
  if (word.substr(0, kPcc.size()) == kPcc) {
    const std::string_view digits = word.substr(kPcc.size());
    HouseRule rule{House::kPcc, 0};
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), rule.correlation);
    if (error != std::errc() || end != digits.data() + digits.size()) return {};
    if (!(rule.correlation > 0 && rule.correlation <= 1)) return {};
    return rule;
  }
  for (const auto& [name, house] : kNames) {
    if (name == word) return HouseRule{house, 0.99};
  }
  return {};
}

std::string house_name(const HouseRule& rule) {
  if (rule.house == House::kPcc) return fmt::format("pcc={}", rule.correlation);
  for (const auto& [name, house] : kNames) {
    if (house == rule.house) return std::string(name);
  }
  return "";
}

std::vector<HouseRule> all_houses() {
  std::vector<HouseRule> all;
  all.reserve(kNames.size());
  for (const auto& known : kNames) all.push_back({known.second, 0.99});
  return all;
}

Limits own_limits(const AttentionProblem& problem, const AttentionAnswer& truth, int threads) {
  LimitFinder finder(truth.out, problem.rules.dtype);
  for (PlainOrder order : kPlainOrders) {
    finder.add(plain_attention(problem, problem.rules.dtype, order, false, false, threads).out);
  }
  return finder.limits();
}

HouseJury::HouseJury(const AttentionProblem& problem, const AttentionAnswer& truth, Part part,
                     const Limits& ours, int threads)
    : truth_(truth.*part), dtype_(problem.rules.dtype), ours_(ours) {
  const bool maps = truth.weights.rank() != 0;
  // In 16 bits each step of a plain implementation is a tensor of that type.
  const bool steps = dtype_ == DType::kF16 || dtype_ == DType::kBF16;
  const auto error_in = [&](const AttentionProblem& asked, PlainOrder order) {
    return largest_error(plain_attention(asked, dtype_, order, steps, maps, threads).*part, truth_);
  };
  pytorch_error_ = error_in(problem, PlainOrder::kBothScaled);
  flash_error_ = error_in(with_scaled_keys(problem, dtype_), PlainOrder::kScoresScaled);
}

// |error| <= atol + rtol * |truth| for each element; the one that uses most of it decides.
HouseDecision HouseJury::near_each(HouseDecision decision, const Tensor<double>& given, double atol,
                                   double rtol) const {
  decision.measure = "error";
  double worst = -1;
  for (std::size_t n = 0; n < truth_.values.size(); ++n) {
    const double truth = truth_.values[n];
    const double limit = atol + (std::isfinite(truth) ? rtol * std::abs(truth) : 0);
    const double error = error_of(given.values[n], truth);
    if (error / limit <= worst) continue;
    worst = error / limit;
    decision.found = error;
    decision.limit = limit;
    decision.at = static_cast<Index>(n);
  }
  decision.pass = worst <= 1;
  return decision;
}

HouseDecision HouseJury::decide(const HouseRule& rule, const Tensor<double>& given) const {
  HouseDecision decision;
  decision.house = rule;
  const Difference apart = difference(given, truth_);
  const Metrics measured = metrics(given, truth_);
  const auto each = [&](Pair pair) {
    decision.rule = fmt::format("{:.2g} + {:.2g} * |truth|", pair.atol, pair.rtol);
    return near_each(std::move(decision), given, pair.atol, pair.rtol);
  };
  switch (rule.house) {
    case House::kOurs:
      decision.rule = "2 * honest error + F * |truth|, mean too";
      decision.measure = "max error";
      decision.found = apart.max_error;
      decision.limit = ours_.max_error;
      decision.at = apart.at;
      decision.pass = apart.max_error <= ours_.max_error && apart.mean_error <= ours_.mean_error;
      // The mean decides where the largest error alone would pass.
      if (!decision.pass && apart.max_error <= ours_.max_error) {
        decision.measure = "mean error";
        decision.found = apart.mean_error;
        decision.limit = ours_.mean_error;
        decision.at.reset();
      }
      return decision;
    case House::kFlash:
      decision.rule = fmt::format("2 * {:.2g} + 1e-05", flash_error_);
      decision.measure = "max error";
      decision.found = apart.max_error;
      decision.limit = 2 * flash_error_ + 1e-5;
      decision.at = apart.at;
      decision.pass = decision.found <= decision.limit;
      return decision;
    case House::kGgml:
      decision.rule = "sum of error^2 / sum of truth^2";
      decision.measure = "nmse";
      decision.found = measured.nmse;
      decision.limit = kGgmlNmse;
      decision.pass = measured.nmse <= kGgmlNmse && measured.not_finite == 0;
      return decision;
    case House::kPcc:
      decision.rule = "correlation, at least";
      decision.measure = "pearson";
      decision.found = measured.pearson;
      decision.limit = rule.correlation;
      decision.pass = measured.pearson >= rule.correlation && measured.nmse != kInfinity;
      return decision;
    case House::kPytorch: {
      const Pair standard = pytorch_defaults(dtype_);
      return each(
          {kPytorchFudge * std::max(pytorch_error_, standard.atol), kPytorchFudge * standard.rtol});
    }
    case House::kXformers:
      return each(xformers_pair(dtype_));
    case House::kOnnx:
      return each({1e-7, 1e-3});
    case House::kCudnn:
      return each({2e-2, 2e-2});
    case House::kMlx:
      return each(mlx_pair(dtype_));
  }
  return decision;
}

}  // namespace attn
