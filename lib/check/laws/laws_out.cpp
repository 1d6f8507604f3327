// Laws of out that need no weights.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "check/laws/law_rows.h"
#include "check/laws/laws.h"
#include "check/verdict/value_range.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

Check out_within_values(const AttentionCase& recorded, double slack) {
  const char* name = "out-within-values";
  if (!recorded.out) return not_checked(name, "no out");
  const AttentionProblem& problem = recorded.problem;
  const auto features = static_cast<std::size_t>(problem.value_dim());
  WorstError worst(name);
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
  WorstError worst(name);
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

Check first_causal_row(const AttentionCase& recorded) {
  const char* name = "first-causal-row";
  const AttentionProblem& problem = recorded.problem;
  if (!problem.rules.causal) return not_checked(name, "not causal");
  if (!recorded.out) return not_checked(name, "no out");
  if (!problem.sinks.empty()) return not_checked(name, "sinks take a share");
  WorstError worst(name);
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
  WorstError worst(name);
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
  WorstError worst(name);
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

}  // namespace attn
