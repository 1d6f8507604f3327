#include "model/training_state.h"

#include <algorithm>

namespace attn {

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
