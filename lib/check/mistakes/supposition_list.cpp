#include "check/mistakes/supposition_list.h"

#include <algorithm>
#include <limits>
#include <utility>

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

AttentionProblem with_more_keys(const AttentionProblem& problem, Index keys, bool repeat_last) {
  AttentionProblem longer = problem;
  const Index before = problem.kv_len();
  if (longer.cut) longer.cut->kv_len += keys - before;
  const auto lengthen = [&](Tensor<double>& tensor) {
    const Index features = tensor.dim(3);
    Tensor<double> more({tensor.dim(0), tensor.dim(1), keys, features});
    for (Index head = 0; head < tensor.dim(0) * tensor.dim(1); ++head) {
      for (Index j = 0; j < keys; ++j) {
        if (j >= before && (!repeat_last || before == 0)) break;
        std::copy_n(tensor.data() + (head * before + std::min(j, before - 1)) * features, features,
                    more.data() + (head * keys + j) * features);
      }
    }
    tensor = std::move(more);
  };
  lengthen(longer.k);
  lengthen(longer.v);
  if (problem.mask && problem.mask->dim(3) > 1) {
    const Tensor<double>& mask = *problem.mask;
    Tensor<double> more({mask.dim(0), mask.dim(1), mask.dim(2), keys});
    std::fill(more.values.begin(), more.values.end(),
              problem.rules.mask_type == MaskType::kBool ? 1 : 0);
    for (Index row = 0; row < mask.size() / before; ++row) {
      std::copy_n(mask.data() + row * before, before, more.data() + row * keys);
    }
    longer.mask = std::move(more);
  }
  return longer;
}

Supposition& SuppositionList::add(Supposition supposition) {
  found_.push_back(std::move(supposition));
  return found_.back();
}

Supposition& SuppositionList::seen(std::string name,
                                   std::function<void(AttentionProblem&)> change) {
  Supposition one;
  one.name = std::move(name);
  one.as_seen = [change = std::move(change)](const AttentionProblem& problem) {
    AttentionProblem changed = problem;
    change(changed);
    return changed;
  };
  return add(std::move(one));
}

Supposition& SuppositionList::twisted(std::string name, Twist twist, double parameter) {
  Supposition one;
  one.name = std::move(name);
  one.as_seen = [](const AttentionProblem& problem) { return problem; };
  one.twist = twist;
  one.parameter = parameter;
  return add(std::move(one));
}

Supposition& SuppositionList::allowed(std::string name, MaySee may_see) {
  Supposition one;
  one.name = std::move(name);
  one.as_seen = [may_see = std::move(may_see)](const AttentionProblem& problem) {
    return restricted(problem, may_see);
  };
  return add(std::move(one));
}

Supposition& SuppositionList::mask_becomes(
    std::string name, std::function<double(double value, double scale)> becomes) {
  return seen(std::move(name), [becomes = std::move(becomes)](AttentionProblem& problem) {
    if (!problem.mask) return;  // another mistake left none
    const double scale = problem.scale();
    for (double& value : problem.mask->values) value = becomes(value, scale);
  });
}

bool hides(const AttentionProblem& problem) {
  const AttentionRules& rules = problem.rules;
  return rules.causal || problem.mask || rules.window_left >= 0 || rules.window_right >= 0;
}

Index whole_row(const AttentionProblem& problem, Index i) {
  return i + (problem.cut ? problem.cut->first_row : 0);
}

Index key_count(const AttentionProblem& problem, Index b) {
  const Index keys = problem.kv_lens.empty() ? problem.whole_kv_len()
                                             : problem.kv_lens[static_cast<std::size_t>(b)];
  const Index cut_at = problem.cut ? problem.cut->first_key : 0;
  return std::clamp(keys - cut_at, Index{0}, problem.kv_len());
}

namespace {

// Where the row's packed sequence starts and ends among the keys: entry `next` of cu_seqlens_k,
// counted from the sequence's own.
Index packed_start(const AttentionProblem& problem, Index i, std::size_t next) {
  const std::vector<Index>& starts = problem.cu_seqlens_q;
  const auto after =
      std::upper_bound(starts.begin(), starts.end(), whole_row(problem, i)) - starts.begin();
  const Index key = problem.cu_seqlens_k[static_cast<std::size_t>(after) - 1 + next];
  return std::clamp(key - (problem.cut ? problem.cut->first_key : 0), Index{0}, problem.kv_len());
}

}  // namespace

Index first_key(const AttentionProblem& problem, Index i) {
  return problem.cu_seqlens_q.empty() ? 0 : packed_start(problem, i, 0);
}

Index key_limit(const AttentionProblem& problem, Index b, Index i) {
  const Index limit = key_count(problem, b);
  return problem.cu_seqlens_q.empty() ? limit : std::min(limit, packed_start(problem, i, 1));
}

bool in_own_sequence(const AttentionProblem& problem, Index b, Index i, Index j) {
  return j >= first_key(problem, i) && j < key_limit(problem, b, i);
}

bool in_reach(const AttentionRules& rules, Index position, Index j) {
  if (rules.causal && j > position) return false;
  if (rules.window_left >= 0 && j < position - rules.window_left) return false;
  return rules.window_right < 0 || j <= position + rules.window_right;
}

}  // namespace attn
