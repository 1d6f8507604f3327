#include "check/supposition_list.h"

#include <limits>

namespace attn {

AttentionProblem restricted(const AttentionProblem& problem, const MaySee& may_see) {
  const bool additive = problem.mask && problem.rules.mask_type == MaskType::kAdditive;
  AttentionProblem changed = problem;
  changed.rules.causal = false;
  changed.rules.window_left = -1;
  changed.rules.window_right = -1;
  Tensor<double> mask({problem.batch(), problem.heads(), problem.q_len(), problem.kv_len()});
  std::size_t at = 0;
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index h = 0; h < problem.heads(); ++h) {
      for (Index i = 0; i < problem.q_len(); ++i) {
        for (Index j = 0; j < problem.kv_len(); ++j) {
          const bool may = may_see(problem, b, h, i, j);
          if (additive) {
            mask.values[at++] =
                may ? problem.mask_at(b, h, i, j) : -std::numeric_limits<double>::infinity();
          } else {
            mask.values[at++] = may ? 1 : 0;
          }
        }
      }
    }
  }
  changed.mask = std::move(mask);
  return changed;
}

void SuppositionList::seen(std::string name, std::function<void(AttentionProblem&)> change) {
  add({std::move(name),
       [change = std::move(change)](const AttentionProblem& problem) {
         AttentionProblem changed = problem;
         change(changed);
         return changed;
       },
       Twist::kNone, 0});
}

void SuppositionList::twisted(std::string name, Twist twist, double parameter) {
  add({std::move(name), [](const AttentionProblem& problem) { return problem; }, twist, parameter});
}

void SuppositionList::allowed(std::string name, MaySee may_see) {
  add({std::move(name),
       [may_see = std::move(may_see)](const AttentionProblem& problem) {
         return restricted(problem, may_see);
       },
       Twist::kNone, 0});
}

void SuppositionList::mask_becomes(std::string name,
                                   std::function<double(double value, double scale)> becomes) {
  seen(std::move(name), [becomes = std::move(becomes)](AttentionProblem& problem) {
    if (!problem.mask) return;  // another mistake left none
    const double scale = problem.scale();
    for (double& value : problem.mask->values) value = becomes(value, scale);
  });
}

bool hides(const AttentionProblem& problem) {
  const AttentionRules& rules = problem.rules;
  return rules.causal || problem.mask || rules.window_left >= 0 || rules.window_right >= 0;
}

}  // namespace attn
