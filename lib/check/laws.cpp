#include "check/laws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Collects the largest of many errors and where it stands.
class Worst {
 public:
  explicit Worst(std::string name) { check_.name = std::move(name); }

  void add(double error, std::vector<Index> where) {
    if (std::isnan(error)) error = kInfinity;
    ++count_;
    if (error <= check_.max_error && !check_.where.empty()) return;
    check_.max_error = error;
    check_.where = std::move(where);
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
  return worst.result(sum_limit(problem.rules.dtype, recorded.stored.weights, keys),
                      "no row sees a key");
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
  return worst.result(tolerance_floor(problem.rules.dtype), "there are no keys");
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
  std::vector<double> least(features), most(features);
  for_each_row(problem, [&](Index at, Index b, Index h, Index i) {
    const Sight sight = sight_of(problem, b, i);
    const double start = problem.sinks.empty() ? kInfinity : 0;
    std::fill(least.begin(), least.end(), start);
    std::fill(most.begin(), most.end(), -start);
    Index seen = 0;
    for (Index j = sight.first; j < sight.end; ++j) {
      if (!mask_allows(problem, b, h, i, j)) continue;
      ++seen;
      const double* value = problem.v_row(b, problem.kv_head_of(h), j);
      for (std::size_t c = 0; c < features; ++c) {
        least[c] = std::min(least[c], value[c]);
        most[c] = std::max(most[c], value[c]);
      }
    }
    if (seen == 0) return;
    for (std::size_t c = 0; c < features; ++c) {
      const auto column = static_cast<Index>(c);
      const double given = recorded.out->data()[at * problem.value_dim() + column];
      const double outside =
          std::isnan(given) ? kInfinity : std::max({0.0, least[c] - given, given - most[c]});
      worst.add(outside, {b, h, i, column});
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
  const double part =
      std::max(tolerance_floor(problem.rules.dtype), storage_rounding(recorded.stored.out));
  return worst.result(part * largest, "no row sees just one key");
}

Check permutation(const AttentionCase& recorded, const Limits& of_out, int threads) {
  const char* name = "permutation";
  if (recorded.perm.empty()) return not_checked(name, "no perm");
  if (!recorded.out_perm) return not_checked(name, "no out_perm");
  const AttentionProblem& problem = recorded.problem;
  if (!order_free(problem)) {
    const AttentionAnswer truth =
        reference_attention(permuted(problem, recorded.perm), false, threads);
    const Limits allowed =
        kept_in(recorded.stored.out_perm, problem.rules.dtype, of_out, truth.out);
    Check check = compare(name, *recorded.out_perm, truth.out, allowed);
    check.note = "against the reference: the order of the tokens means something here";
    return check;
  }
  if (!recorded.out) return not_checked(name, "no out");
  Tensor<double> want(recorded.out->shape);
  const Index features = problem.value_dim();
  for_each_row(problem, [&](Index at, Index, Index, Index i) {
    const Index from = at - i + recorded.perm[static_cast<std::size_t>(i)];
    std::copy_n(recorded.out->data() + from * features, features, want.data() + at * features);
  });
  // Each of the two runs may be as far from the truth as one.
  const Limits twice = {2 * of_out.max_error, 2 * of_out.mean_error};
  return compare(name, *recorded.out_perm, want,
                 kept_in(recorded.stored.out_perm, problem.rules.dtype, twice, want));
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

}  // namespace attn
