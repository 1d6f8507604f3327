#include "model/training_state.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace attn {

std::string setting_text(const Setting& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return escaped(*text);
  if (const auto* whole = std::get_if<Index>(&value)) return fmt::format("{}", *whole);
  return fmt::format("{}", std::get<double>(value));
}

const EvaluationPoint* best_evaluation(const std::vector<EvaluationPoint>& evaluations) {
  const auto best = std::min_element(
      evaluations.begin(), evaluations.end(),
      [](const EvaluationPoint& a, const EvaluationPoint& b) { return a.loss < b.loss; });
  return best == evaluations.end() ? nullptr : &*best;
}

Index evaluations_since_best(const std::vector<EvaluationPoint>& evaluations) {
  const EvaluationPoint* best = best_evaluation(evaluations);
  return best == nullptr ? 0 : &evaluations.back() - best;
}

}  // namespace attn
