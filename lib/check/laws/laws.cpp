#include "check/laws/laws.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "check/laws/law_rows.h"

namespace attn {

void PermutationSum::add(const AttentionCase& recorded, const std::vector<Index>& origin,
                         int threads) {
  if (recorded.perm.empty()) return why_not("no perm");
  if (!recorded.out_perm) return why_not("no out_perm");
  const AttentionProblem& problem = recorded.problem;
  against_reference_ = !order_free(problem);
  if (against_reference_) {
    const AttentionAnswer truth =
        reference_attention(permuted(problem, recorded.perm), false, threads);
    difference_.add(*recorded.out_perm, truth.out, origin);
    size_.add(truth.out);
    return;
  }
  if (!recorded.out) return why_not("no out");
  Tensor<double> want(recorded.out->shape);
  const Index features = problem.value_dim();
  for_each_row(problem, [&](Index at, Index, Index, Index i) {
    const Index from = at - i + recorded.perm[static_cast<std::size_t>(i)];
    std::copy_n(recorded.out->data() + from * features, features, want.data() + at * features);
  });
  difference_.add(*recorded.out_perm, want, origin);
  size_.add(want);
}

void PermutationSum::why_not(const char* why) {
  if (why_not_.empty()) why_not_ = why;
}

Check PermutationSum::result(DType stored, DType dtype, const Limits& of_out) const {
  const char* name = "permutation";
  if (difference_.values() == 0 && !why_not_.empty()) return not_checked(name, why_not_);
  // Without a reference each of the two runs may be as far from the truth as one.
  const double times = against_reference_ ? 1 : 2;
  const Limits allowed{times * of_out.max_error, times * of_out.mean_error};
  Check check = compare(name, difference_, kept_in(stored, dtype, allowed, size_.size()));
  if (against_reference_) {
    check.note = "against the reference: the order of the tokens means something here";
  }
  return check;
}

Check permutation(const AttentionCase& recorded, const Limits& of_out, int threads) {
  PermutationSum sum;
  sum.add(recorded, {}, threads);
  return sum.result(recorded.stored.out_perm, recorded.problem.rules.dtype, of_out);
}

Check causal_probe(const AttentionCase& recorded, const Limits& of_out) {
  const char* name = "causal-probe";
  if (!recorded.probe) return not_checked(name, "no causal_probe");
  if (!recorded.out) return not_checked(name, "no out");
  const AttentionProblem& problem = recorded.problem;
  const CausalProbe& probe = *recorded.probe;
  WorstError worst(name);
  for_each_row(problem, [&](Index at, Index b, Index h, Index i) {
    const Sight sight = sight_of(problem, b, i);
    for (Index j = std::max(sight.first, probe.first_changed_key); j < sight.end; ++j) {
      if (mask_allows(problem, b, h, i, j)) return;
    }
    for (Index c = 0; c < problem.value_dim(); ++c) {
      const double before = recorded.out->data()[at * problem.value_dim() + c];
      const double after = probe.out.data()[at * problem.value_dim() + c];
      const bool same = before == after || (std::isnan(before) && std::isnan(after));
      worst.add(same ? 0 : std::abs(after - before), {b, h, i, c});
    }
  });
  const Limits twice = {2 * of_out.max_error, 2 * of_out.mean_error};
  const Limits allowed =
      kept_in(recorded.stored.probe_out, problem.rules.dtype, twice, *recorded.out);
  return worst.result(allowed.max_error, "every row may see a changed key");
}

void LawSum::add(Check check, const std::vector<Index>& origin) {
  for (std::size_t axis = 0; axis < std::min(check.where.size(), origin.size()); ++axis) {
    check.where[axis] += origin[axis];
  }
  if (check.outcome == Outcome::kNotChecked) {
    if (check_.name.empty()) check_ = std::move(check);
    return;
  }
  if (check_.outcome == Outcome::kNotChecked) {
    check_ = std::move(check);
    return;
  }
  check_.limit = std::max(check_.limit, check.limit);
  if (check.max_error > check_.max_error) {
    check_.max_error = check.max_error;
    check_.where = std::move(check.where);
  }
}

Check LawSum::result() const {
  return result(check_.limit);
}

Check LawSum::result(double limit) const {
  Check check = check_;
  if (check.outcome == Outcome::kNotChecked) return check;
  check.limit = limit;
  check.outcome = check.max_error <= limit ? Outcome::kPass : Outcome::kFail;
  return check;
}

}  // namespace attn
