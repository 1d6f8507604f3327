#include "check/part_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Masks that stand in for minus infinity are at or below this (1e4, 1e9, the least float ...).
constexpr double kSentinel = -1e4;

// With a sink, a row without keys has a denominator of exp(sink): both conventions are in use.
Tensor<double> lse_with_sinks(const AttentionCase& recorded, const AttentionAnswer& truth) {
  Tensor<double> lse = truth.lse;
  const AttentionProblem& problem = recorded.problem;
  for (Index row = 0; row < lse.size() && !problem.sinks.empty(); ++row) {
    if (lse.data()[row] != -kInfinity || std::isinf(recorded.lse->data()[row])) continue;
    const Index head = row / problem.q_len() % problem.heads();
    lse.data()[row] = problem.sinks[static_cast<std::size_t>(head)];
  }
  return lse;
}

Check compare_lse(const DifferenceSum& found, const Limits& allowed) {
  Check check = compare("lse", found, allowed);
  check.axes = kAxesOfRows;
  return check;
}

}  // namespace

PartComparison::PartComparison(const AttentionCase& outline, bool kernel_maps, int threads)
    : outline_(outline), kernel_maps_(kernel_maps), threads_(threads) {}

void PartComparison::add(const AttentionCase& recorded, const AttentionAnswer& truth,
                         const AttentionAnswer& kernel, const std::vector<Index>& origin) {
  out_.size.add(truth.out);
  lse_.size.add(truth.lse);
  weights_.size.add(truth.weights);
  scores_.size.add(truth.scores);
  add_recorded(recorded, truth, origin);
  add_kernel(kernel, truth, origin);
}

void PartComparison::add_recorded(const AttentionCase& recorded, const AttentionAnswer& truth,
                                  const std::vector<Index>& origin) {
  if (recorded.out) {
    DifferenceSum here;
    here.add(*recorded.out, truth.out, origin);
    wrong_.emplace_back(here.max_error(), here.where());
    out_.difference.add(*recorded.out, truth.out, origin);
  }
  if (recorded.weights) weights_.difference.add(*recorded.weights, truth.weights, origin);
  if (recorded.scores) add_scores(recorded, truth, origin);
  if (recorded.lse) {
    lse_.difference.add(*recorded.lse, lse_with_sinks(recorded, truth), origin);
  }
}

void PartComparison::add_scores(const AttentionCase& recorded, const AttentionAnswer& truth,
                                const std::vector<Index>& origin) {
  Tensor<double> given = *recorded.scores;
  if (recorded.scores_stage == ScoreStage::kMasked) {
    for (std::size_t n = 0; n < given.values.size(); ++n) {
      if (truth.scores.values[n] != -kInfinity || !(given.values[n] <= kSentinel)) continue;
      sentinel_ = sentinel_ || given.values[n] != -kInfinity;
      given.values[n] = -kInfinity;
    }
    scores_.difference.add(given, truth.scores, origin);
    return;
  }
  const Tensor<double> early = reference_scores(recorded.problem, recorded.scores_stage, threads_);
  for (std::size_t n = 0; n < given.values.size(); ++n) {
    if (std::isnan(early.values[n])) given.values[n] = kNan;  // padding: anything may stand there
  }
  early_scores_.difference.add(given, early, origin);
  early_scores_.size.add(early);
}

void PartComparison::add_kernel(const AttentionAnswer& kernel, const AttentionAnswer& truth,
                                const std::vector<Index>& origin) {
  kernel_out_.add(kernel.out, truth.out, origin);
  kernel_lse_.add(kernel.lse, truth.lse, origin);
  if (!kernel_maps_) return;
  kernel_weights_.add(kernel.weights, truth.weights, origin);
  kernel_scores_.add(kernel.scores, truth.scores, origin);
}

AnswerLimits PartComparison::sizes() const {
  return {out_.size.size(), weights_.size.size(), scores_.size.size(), lse_.size.size()};
}

std::vector<std::vector<Index>> PartComparison::worst_places() const {
  auto wrong = wrong_;
  std::stable_sort(wrong.begin(), wrong.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kMostWrong = 8;
  std::vector<std::vector<Index>> places;
  for (std::size_t n = 0; n < std::min(kMostWrong, wrong.size()); ++n) {
    places.push_back(std::move(wrong[n].second));
  }
  for (const DifferenceSum* difference : {&lse_.difference, &kernel_out_, &kernel_lse_}) {
    places.push_back(difference->where());
  }
  return places;
}

Check PartComparison::check_out(const Limits& allowed) const {
  if (!outline_.out) return not_checked("out", "no out");
  return compare("out", out_.difference, allowed);
}

std::vector<Check> PartComparison::check_others(const AnswerLimits& allowed) const {
  return {outline_.weights ? compare("weights", weights_.difference, allowed.weights)
                           : not_checked("weights", "no weights"),
          outline_.scores ? check_scores(allowed.scores) : not_checked("scores", "no scores"),
          outline_.lse ? compare_lse(lse_.difference, allowed.lse) : not_checked("lse", "no lse")};
}

Check PartComparison::check_scores(const Limits& allowed) const {
  if (outline_.scores_stage == ScoreStage::kMasked) {
    Check check = compare("scores", scores_.difference, allowed);
    if (sentinel_) check.note = "hidden by finite numbers";
    return check;
  }
  const DType dtype = outline_.problem.rules.dtype;
  const Limits size = early_scores_.size.size();
  Limits early = kept_in(outline_.stored.scores, dtype, HonestErrors().limits(dtype, size), size);
  early.max_error = std::max(early.max_error, allowed.max_error);
  early.mean_error = std::max(early.mean_error, allowed.mean_error);
  return compare("scores", early_scores_.difference, early);
}

std::vector<Check> PartComparison::check_kernel(const AnswerLimits& allowed) const {
  std::vector<Check> checks = {compare("out", kernel_out_, allowed.out),
                               compare_lse(kernel_lse_, allowed.lse)};
  if (!kernel_maps_) return checks;
  checks.push_back(compare("weights", kernel_weights_, allowed.weights));
  checks.push_back(compare("scores", kernel_scores_, allowed.scores));
  return checks;
}

PartComparison::Worst PartComparison::worst_of_failed(const Verdict& verdict) const {
  const Compared& worst = check_failed(verdict, "out")       ? out_
                          : check_failed(verdict, "weights") ? weights_
                          : check_failed(verdict, "scores")  ? scores_
                                                             : lse_;
  return {worst.difference.where(), worst.size.size().max_error};
}

}  // namespace attn
