#include "check/layer/check_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "check/layer/diagnose_layer.h"
#include "check/layer/kernel_layer.h"
#include "check/layer/layer_reference.h"
#include "check/layer/plain_layer.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Masks that stand in for minus infinity are at or below this (1e4, 1e9, the least float ...).
constexpr double kSentinel = -1e4;

// Limits of every step, of the chain or, where steps are given, of each behind them.
LayerLimits honest_limits(const LayerProblem& problem, const LayerSteps& truth,
                          const LayerSteps& given, DType dtype, bool round_scores, int threads) {
  std::vector<LimitFinder> finders;
  finders.reserve(kLayerSteps);
  for (LayerStep step : kAllLayerSteps) finders.emplace_back(truth[step], dtype);
  for (PlainOrder order : kPlainOrders) {
    const LayerSteps plain = plain_layer(problem, given, dtype, order, round_scores, threads);
    for (LayerStep step : kAllLayerSteps) finders[static_cast<std::size_t>(step)].add(plain[step]);
  }
  LayerLimits limits;
  for (LayerStep step : kAllLayerSteps) {
    limits[step] = finders[static_cast<std::size_t>(step)].limits();
  }
  return limits;
}

class LayerExamination {
 public:
  LayerExamination(const LayerCase& layer, const LayerSettings& settings)
      : layer_(layer), problem_(layer.problem), settings_(settings), as_was_(layer_.recorded) {}

  LayerReport run() {
    const int threads = settings_.threads;
    const DType dtype = problem_.attention.rules.dtype;
    report_.truth = reference_layer(problem_, {}, threads);
    settle_stage();
    settle_scores();
    allowed_ = kept(honest_limits(problem_, report_.truth, {}, dtype, false, threads));
    std::vector<Check> checks = equality();
    const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
    if (narrow && any_failed(checks)) {
      const LayerLimits before = allowed_;
      allowed_ = kept(honest_limits(problem_, report_.truth, {}, dtype, true, threads));
      std::vector<Check> again = equality();
      round_scores_ = !any_failed(again);
      if (round_scores_) {
        checks = std::move(again);
        report_.remarks.push_back(fmt::format("scores rounded to {}", dtype_name(dtype)));
      } else {
        allowed_ = before;
      }
    }
    if (any_failed(checks)) find_first(checks);
    report_.verdict.checks = std::move(checks);
    check_kernel();
    diagnose();
    return std::move(report_);
  }

 private:
  LayerSteps& recorded() { return layer_.recorded; }

  static bool any_failed(const std::vector<Check>& checks) {
    return std::any_of(checks.begin(), checks.end(),
                       [](const Check& check) { return check.outcome == Outcome::kFail; });
  }

  LayerLimits kept(LayerLimits limits) const {
    const DType dtype = problem_.attention.rules.dtype;
    for (LayerStep step : kAllLayerSteps) {
      limits[step] = kept_in(layer_.stored[static_cast<std::size_t>(step)], dtype, limits[step],
                             report_.truth[step]);
    }
    return limits;
  }

  // Queries and keys recorded before their rotation are turned here.
  void settle_stage() {
    if (!problem_.rope) return;
    for (LayerStep step : {LayerStep::kQ, LayerStep::kK}) {
      if (!recorded().has(step) || layer_.qk_stage == QkStage::kRotated) continue;
      Tensor<double> turned = recorded()[step];
      reference_rotation(*problem_.rope, turned);
      const Tensor<double>& truth = report_.truth[step];
      const bool nearer =
          difference(turned, truth).max_error < difference(recorded()[step], truth).max_error;
      if (layer_.qk_stage == QkStage::kEither && !nearer) continue;
      recorded()[step] = std::move(turned);
      report_.remarks.push_back(
          fmt::format("{} is taken as recorded before rope", layer_step_name(step)));
    }
  }

  // Hidden scores may be any number low enough.
  void settle_scores() {
    if (!recorded().has(LayerStep::kScores)) return;
    Tensor<double>& given = recorded()[LayerStep::kScores];
    const Tensor<double>& truth = report_.truth[LayerStep::kScores];
    for (std::size_t n = 0; n < given.values.size(); ++n) {
      if (truth.values[n] == -kInfinity && given.values[n] <= kSentinel) {
        given.values[n] = -kInfinity;
      }
    }
  }

  std::vector<Check> equality() const {
    std::vector<Check> checks;
    for (LayerStep step : kAllLayerSteps) {
      const char* name = layer_step_name(step);
      checks.push_back(layer_.recorded.has(step) ? compare(name, layer_.recorded[step],
                                                           report_.truth[step], allowed_[step])
                                                 : not_checked(name, fmt::format("no {}", name)));
    }
    return checks;
  }

  // Holds each step that fails to what it must give of the steps recorded before it.
  void find_first(std::vector<Check>& checks) {
    const DType dtype = problem_.attention.rules.dtype;
    const LayerSteps& given = layer_.recorded;
    const LayerSteps follows = reference_layer(problem_, given, settings_.threads);
    const LayerLimits limits =
        kept(honest_limits(problem_, follows, given, dtype, round_scores_, settings_.threads));
    for (LayerStep step : kAllLayerSteps) {
      Check& check = checks[static_cast<std::size_t>(step)];
      if (check.outcome != Outcome::kFail) continue;
      const Check own = compare("", given[step], follows[step], limits[step]);
      if (own.outcome == Outcome::kPass && step > LayerStep::kV) {
        check.note = "follows from the steps before";
        continue;
      }
      if (wrong_.empty()) report_.first_wrong = layer_step_name(step);
      check.note = wrong_.empty() ? "the first step that deviates" : "deviates too";
      wrong_.push_back(step);
    }
    if (!wrong_.empty()) return;
    // Each step is near what it was made of, and together they are not: the last is named.
    for (LayerStep step : kAllLayerSteps) {
      if (checks[static_cast<std::size_t>(step)].outcome != Outcome::kFail) continue;
      report_.first_wrong = layer_step_name(step);
      wrong_.push_back(step);
      return;
    }
  }

  void check_kernel() {
    std::string why;
    const std::optional<LayerSteps> kernel = kernel_layer(problem_, why);
    const LayerLimits single =
        honest_limits(problem_, report_.truth, {}, DType::kF32, false, settings_.threads);
    for (LayerStep step : kAllLayerSteps) {
      const char* name = layer_step_name(step);
      if (step == LayerStep::kScores) continue;
      report_.kernel.checks.push_back(
          kernel ? compare(name, (*kernel)[step], report_.truth[step], single[step])
                 : not_checked(name, fmt::format("the library's layer does not do this: {}", why)));
    }
  }

  void diagnose() {
    if (wrong_.empty()) return;
    report_.verdict.diagnosis = diagnose_layer(
        {layer_, as_was_, report_.truth, allowed_, wrong_, settings_.raw_x}, settings_.threads);
  }

  LayerCase layer_;
  const LayerProblem& problem_;
  const LayerSettings& settings_;
  LayerLimits allowed_;
  bool round_scores_ = false;
  const LayerSteps as_was_;
  std::vector<LayerStep> wrong_;
  LayerReport report_;
};

}  // namespace

LayerReport check_layer(const LayerCase& layer, const LayerSettings& settings) {
  return LayerExamination(layer, settings).run();
}

}  // namespace attn
