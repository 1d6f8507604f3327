// Laws of the weights.

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/laws/law_rows.h"
#include "check/laws/laws.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
  WorstError worst(name);
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
  WorstError worst(name);
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
  WorstError worst(name);
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

}  // namespace attn
