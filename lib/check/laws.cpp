#include "check/laws.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "check/value_range.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Collects the largest of many errors and where it stands.
class Worst {
 public:
  explicit Worst(std::string name) { check_.name = std::move(name); }

  void add(double error, std::initializer_list<Index> where) {
    if (std::isnan(error)) error = kInfinity;
    ++count_;
    if (error <= check_.max_error && !check_.where.empty()) return;
    check_.max_error = error;
    check_.where = where;
  }

  Check result(double limit, const char* why_none) {
    if (count_ == 0) return not_checked(check_.name, why_none);
    check_.limit = limit;
    check_.outcome = check_.max_error <= limit ? Outcome::kPass : Outcome::kFail;
    return check_;
  }

 private:
  Check check_;
  Index count_ = 0;
};

template <class Task>
void for_each_row(const AttentionProblem& problem, const Task& task) {
  Index at = 0;
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index h = 0; h < problem.heads(); ++h) {
      for (Index i = 0; i < problem.q_len(); ++i) task(at++, b, h, i);
    }
  }
}

bool is_dead(const AttentionProblem& problem, Index b, Index h, Index i) {
  const Sight sight = sight_of(problem, b, i);
  for (Index j = sight.first; j < sight.end; ++j) {
    if (mask_allows(problem, b, h, i, j)) return false;
  }
  return true;
}

// Where the rules want NaN of a row, no law about numbers applies to it.
bool exempt(const AttentionProblem& problem, Index b, Index h, Index i) {
  return problem.rules.fully_masked == FullyMasked::kNan && is_dead(problem, b, h, i);
}

bool hides_keys(const AttentionProblem& problem) {
  return problem.mask || !problem.kv_lens.empty() || !problem.cu_seqlens_q.empty() ||
         problem.rules.window_left >= 0 || problem.rules.window_right >= 0;
}

// Of a sum of `keys` weights: each is rounded to half a unit of the type, as is the sum they were
// divided by; numbers below the smallest normal f16 lose a fixed amount.
double sum_limit(DType dtype, DType stored, Index keys) {
  const double unit = dtype == DType::kF64 ? 0x1p-53 : 0x1p-24;
  // Rounding to a coarser type the weights are kept in: half a unit of each, and they sum to 1.
  const double kept =
      storage_rounding(stored) > storage_rounding(dtype) ? storage_rounding(stored) : 0;
  return tolerance_floor(dtype) + static_cast<double>(keys) * unit / 2 + kept;
}

// The least and the greatest of the values that a mask lets a row see; false where it sees none.
bool masked_range(const AttentionProblem& problem, Index b, Index h, Index i,
                  std::vector<double>& least, std::vector<double>& most) {
  const Sight sight = sight_of(problem, b, i);
  least.assign(static_cast<std::size_t>(problem.value_dim()), kInfinity);
  most.assign(least.size(), -kInfinity);
  bool seen = false;
  for (Index j = sight.first; j < sight.end; ++j) {
    if (!mask_allows(problem, b, h, i, j)) continue;
    seen = true;
    const double* value = problem.v_row(b, problem.kv_head_of(h), j);
    for (std::size_t c = 0; c < least.size(); ++c) least[c] = std::min(least[c], value[c]);
    for (std::size_t c = 0; c < most.size(); ++c) most[c] = std::max(most[c], value[c]);
  }
  return seen;
}

template <class Wanted>
Check zero_where(const char* name, const AttentionCase& recorded, const Wanted& wanted) {
  const AttentionProblem& problem = recorded.problem;
  Worst worst(name);
  for_each_row(problem, [&](Index at, Index b, Index h, Index i) {
    if (exempt(problem, b, h, i)) return;
    const double* row = recorded.weights->data() + at * problem.kv_len();
    const Sight sight = sight_of(problem, b, i);
    for (Index j = 0; j < problem.kv_len(); ++j) {
      if (wanted(sight, b, h, i, j)) worst.add(std::abs(row[j]), {b, h, i, j});
    }
  });
  return worst.result(0, "no key is hidden");
}

}  // namespace

Check rows_sum_to_one(const AttentionCase& recorded, const AttentionAnswer& truth) {
  const char* name = "rows-sum-to-1";
  if (!recorded.weights) return not_checked(name, "no weights");
  const AttentionProblem& problem = recorded.problem;
  const Index keys = problem.kv_len();
  Worst worst(name);
  for_each_row(problem, [&](Index at, Index b, Index h, Index i) {
    if (is_dead(problem, b, h, i)) return;
    double sum = 0;
    double want = problem.sinks.empty() ? 1 : 0;
    for (Index j = 0; j < keys; ++j) {
      sum += recorded.weights->data()[at * keys + j];
      if (!problem.sinks.empty()) want += truth.weights.data()[at * keys + j];
    }
    worst.add(std::abs(sum - want), {b, h, i});
  });
  Check check = worst.result(
      sum_limit(tolerance_type(problem.rules), recorded.stored.weights, keys), "no row sees a key");
  check.axes = kAxesOfRows;
  return check;
}

Check weights_in_range(const AttentionCase& recorded) {
  const char* name = "weights-in-range";
  if (!recorded.weights) return not_checked(name, "no weights");
  const AttentionProblem& problem = recorded.problem;
  Worst worst(name);
  for_each_row(problem, [&](Index at, Index b, Index h, Index i) {
    if (exempt(problem, b, h, i)) return;
    for (Index j = 0; j < problem.kv_len(); ++j) {
      const double weight = recorded.weights->data()[at * problem.kv_len() + j];
      const double outside = std::isnan(weight) ? kInfinity : std::max({0.0, -weight, weight - 1});
      worst.add(outside, {b, h, i, j});
    }
  });
  return worst.result(tolerance_floor(tolerance_type(problem.rules)), "there are no keys");
}

Check future_weights_zero(const AttentionCase& recorded) {
  const char* name = "future-weights-zero";
  if (!recorded.problem.rules.causal) return not_checked(name, "not causal");
  if (!recorded.weights) return not_checked(name, "no weights");
  return zero_where(name, recorded, [](const Sight& sight, Index, Index, Index, Index j) {
    return j > sight.position;
  });
}

Check hidden_weights_zero(const AttentionCase& recorded) {
  const char* name = "hidden-weights-zero";
  const AttentionProblem& problem = recorded.problem;
  if (!hides_keys(problem)) return not_checked(name, "no mask, window or lengths");
  if (!recorded.weights) return not_checked(name, "no weights");
  return zero_where(name, recorded, [&](const Sight& sight, Index b, Index h, Index i, Index j) {
    const bool future = problem.rules.causal && j > sight.position;
    return !future && !may_see(problem, b, h, i, j);
  });
}

Check out_within_values(const AttentionCase& recorded, double slack) {
  const char* name = "out-within-values";
  if (!recorded.out) return not_checked(name, "no out");
  const AttentionProblem& problem = recorded.problem;
  const auto features = static_cast<std::size_t>(problem.value_dim());
  Worst worst(name);
  std::optional<ValueRange> range;
  std::vector<double> least, most;
  for_each_row(problem, [&](Index at, Index b, Index h, Index i) {
    const Index kv_head = problem.kv_head_of(h);
    if (i == 0) range.emplace(problem, b, kv_head);
    const Sight sight = sight_of(problem, b, i);
    if (problem.mask) {
      if (!masked_range(problem, b, h, i, least, most)) return;
    } else {
      if (sight.end <= sight.first) return;
      range->take(sight.first, sight.end);
      least = range->least();
      most = range->most();
    }
    const bool sink = !problem.sinks.empty();
    const double* out = recorded.out->data() + at * problem.value_dim();
    for (std::size_t c = 0; c < features; ++c) {
      const double low = sink ? std::min(least[c], 0.0) : least[c];
      const double high = sink ? std::max(most[c], 0.0) : most[c];
      const double outside =
          std::isnan(out[c]) ? kInfinity : std::max({0.0, low - out[c], out[c] - high});
      worst.add(outside, {b, h, i, static_cast<Index>(c)});
    }
  });
  return worst.result(slack, "no row sees a key");
}

Check one_key_gives_its_value(const AttentionCase& recorded) {
  const char* name = "one-key-gives-its-value";
  if (!recorded.out) return not_checked(name, "no out");
  const AttentionProblem& problem = recorded.problem;
  if (!problem.sinks.empty()) return not_checked(name, "sinks take a share");
  Worst worst(name);
  double largest = 0;
  for_each_row(problem, [&](Index at, Index b, Index h, Index i) {
    const Sight sight = sight_of(problem, b, i);
    Index seen = 0;
    Index key = 0;
    for (Index j = sight.first; j < sight.end && seen < 2; ++j) {
      if (!mask_allows(problem, b, h, i, j)) continue;
      ++seen;
      key = j;
    }
    if (seen != 1) return;
    const double* value = problem.v_row(b, problem.kv_head_of(h), key);
    for (Index c = 0; c < problem.value_dim(); ++c) {
      const double given = recorded.out->data()[at * problem.value_dim() + c];
      largest = std::max(largest, std::abs(value[c]));
      worst.add(given == value[c] ? 0 : std::abs(given - value[c]), {b, h, i, c});
    }
  });
  const double part = std::max(tolerance_floor(tolerance_type(problem.rules)),
                               storage_rounding(recorded.stored.out));
  return worst.result(part * largest, "no row sees just one key");
}

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
  Worst worst(name);
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

namespace {

// For each row, the first of the run of equal rows that it ends: 0 0 0 3 3 for a a a b b.
std::vector<Index> equal_runs(const double* rows, Index count, Index features) {
  std::vector<Index> start(static_cast<std::size_t>(count));
  for (Index j = 1; j < count; ++j) {
    const double* row = rows + j * features;
    const bool same = std::equal(row, row + features, row - features);
    start[static_cast<std::size_t>(j)] = same ? start[static_cast<std::size_t>(j - 1)] : j;
  }
  return start;
}

// Calls row(at, b, h, i, sight) for rows that see two keys or more, all of which are alike by
// `starts`, which of_head(b, kv_head) gives.
template <class OfHead, class Row>
void for_each_row_of_equals(const AttentionProblem& problem, const OfHead& of_head,
                            const Row& row) {
  std::vector<Index> starts;
  bool any = false;
  for_each_row(problem, [&](Index at, Index b, Index h, Index i) {
    const Index kv_head = problem.kv_head_of(h);
    if (i == 0 && h % (problem.heads() / problem.kv_heads()) == 0) {
      starts = of_head(b, kv_head);
      any = false;
      for (std::size_t j = 0; j < starts.size(); ++j)
        any = any || starts[j] < static_cast<Index>(j);
    }
    if (!any) return;
    const Sight sight = sight_of(problem, b, i);
    if (sight.end - sight.first < 2) return;
    if (starts[static_cast<std::size_t>(sight.end - 1)] > sight.first) return;
    row(at, b, h, i, sight);
  });
}

}  // namespace

Check first_causal_row(const AttentionCase& recorded) {
  const char* name = "first-causal-row";
  const AttentionProblem& problem = recorded.problem;
  if (!problem.rules.causal) return not_checked(name, "not causal");
  if (!recorded.out) return not_checked(name, "no out");
  if (!problem.sinks.empty()) return not_checked(name, "sinks take a share");
  Worst worst(name);
  double largest = 0;
  const bool has_first = problem.q_len() > 0 && (!problem.cut || problem.cut->first_row == 0);
  for (Index b = 0; has_first && b < problem.batch(); ++b) {
    const Sight sight = sight_of(problem, b, 0);
    if (sight.first != 0 || sight.end != 1 || sight.position != 0) continue;
    for (Index h = 0; h < problem.heads(); ++h) {
      if (!mask_allows(problem, b, h, 0, 0)) continue;
      const double* value = problem.v_row(b, problem.kv_head_of(h), 0);
      const Index at = (b * problem.heads() + h) * problem.q_len() * problem.value_dim();
      for (Index c = 0; c < problem.value_dim(); ++c) {
        const double given = recorded.out->data()[at + c];
        largest = std::max(largest, std::abs(value[c]));
        worst.add(given == value[c] ? 0 : std::abs(given - value[c]), {b, h, 0, c});
      }
    }
  }
  const double part = std::max(tolerance_floor(tolerance_type(problem.rules)),
                               storage_rounding(recorded.stored.out));
  return worst.result(part * largest, "row 0 does not see key 0 alone");
}

Check equal_keys_give_the_mean(const AttentionCase& recorded, double slack) {
  const char* name = "equal-keys-give-the-mean";
  const AttentionProblem& problem = recorded.problem;
  if (!recorded.out) return not_checked(name, "no out");
  if (!problem.sinks.empty()) return not_checked(name, "sinks take a share");
  const bool biased = !problem.alibi_slopes.empty() ||
                      (problem.mask && problem.rules.mask_type == MaskType::kAdditive);
  if (biased) return not_checked(name, "scores have a bias");
  Worst worst(name);
  std::vector<double> sum;
  Index first = 0;
  Index end = 0;
  Index head = -1;
  const auto keys = [&problem](Index b, Index kv_head) {
    return equal_runs(problem.k_row(b, kv_head, 0), problem.kv_len(), problem.head_dim());
  };
  for_each_row_of_equals(
      problem, keys, [&](Index at, Index b, Index h, Index i, const Sight& sight) {
        // Sums go on from those of the row before where it saw the same keys and fewer.
        const bool goes_on = !problem.mask && head == at / problem.q_len() &&
                             first == sight.first && end <= sight.end;
        if (!goes_on) {
          sum.assign(static_cast<std::size_t>(problem.value_dim()), 0);
          end = sight.first;
        }
        head = at / problem.q_len();
        first = sight.first;
        Index seen = goes_on ? end - first : 0;
        for (Index j = end; j < sight.end; ++j) {
          if (!mask_allows(problem, b, h, i, j)) continue;
          ++seen;
          const double* value = problem.v_row(b, problem.kv_head_of(h), j);
          for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += value[c];
        }
        end = sight.end;
        if (seen == 0) return;
        for (std::size_t c = 0; c < sum.size(); ++c) {
          const auto column = static_cast<Index>(c);
          const double given = recorded.out->data()[at * problem.value_dim() + column];
          worst.add(std::abs(given - sum[c] / static_cast<double>(seen)), {b, h, i, column});
        }
      });
  return worst.result(slack, "no row sees equal keys alone");
}

Check constant_values_stay(const AttentionCase& recorded, double slack) {
  const char* name = "constant-values-stay";
  const AttentionProblem& problem = recorded.problem;
  if (!recorded.out) return not_checked(name, "no out");
  if (!problem.sinks.empty()) return not_checked(name, "sinks take a share");
  Worst worst(name);
  const auto values = [&problem](Index b, Index kv_head) {
    return equal_runs(problem.v_row(b, kv_head, 0), problem.kv_len(), problem.value_dim());
  };
  for_each_row_of_equals(
      problem, values, [&](Index at, Index b, Index h, Index i, const Sight& sight) {
        bool seen = false;
        for (Index j = sight.first; !seen && j < sight.end; ++j) {
          seen = mask_allows(problem, b, h, i, j);
        }
        if (!seen) return;
        const double* value = problem.v_row(b, problem.kv_head_of(h), sight.first);
        for (Index c = 0; c < problem.value_dim(); ++c) {
          const double given = recorded.out->data()[at * problem.value_dim() + c];
          worst.add(given == value[c] ? 0 : std::abs(given - value[c]), {b, h, i, c});
        }
      });
  return worst.result(slack, "no row sees equal values alone");
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
