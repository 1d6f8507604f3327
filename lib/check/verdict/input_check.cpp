#include "check/verdict/input_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attn {

namespace {

// Which keys any row of a head sees. Without a mask a row sees a run of keys, and only the ends of
// runs need to be written down.
std::vector<char> keys_seen(const AttentionProblem& problem, Index b, Index h) {
  const auto keys = static_cast<std::size_t>(problem.kv_len());
  std::vector<char> seen(keys);
  std::vector<Index> begins(keys + 1);
  for (Index i = 0; i < problem.q_len(); ++i) {
    const Sight sight = sight_of(problem, b, i);
    if (!problem.mask) {
      ++begins[static_cast<std::size_t>(sight.first)];
      --begins[static_cast<std::size_t>(sight.end)];
      continue;
    }
    for (Index j = sight.first; j < sight.end; ++j) {
      if (mask_allows(problem, b, h, i, j)) seen[static_cast<std::size_t>(j)] = 1;
    }
  }
  Index open = 0;
  for (std::size_t j = 0; j < keys; ++j) {
    open += begins[j];
    if (open > 0) seen[j] = 1;
  }
  return seen;
}

// Where the first number of a row that is none stands; -1: all are.
Index not_finite(const double* row, Index count) {
  const double* bad = std::find_if(row, row + count, [](double x) { return !std::isfinite(x); });
  return bad == row + count ? -1 : bad - row;
}

Check failed(const char* name, double value, std::vector<Index> where) {
  Check check;
  check.name = "finite-inputs";
  check.max_error = std::numeric_limits<double>::infinity();
  check.outcome = Outcome::kFail;
  check.note = fmt::format("{} holds {} where it is read", name, value);
  check.where = std::move(where);
  return check;
}

}  // namespace

std::optional<Check> check_inputs(const AttentionProblem& problem,
                                  const std::vector<Index>& origin) {
  const Index group = problem.heads() / problem.kv_heads();
  const Index first_key = problem.cut ? problem.cut->first_key : 0;
  for (Index b = 0; b < problem.batch(); ++b) {
    for (Index h = 0; h < problem.heads(); ++h) {
      const std::vector<char> seen = keys_seen(problem, b, h);
      const Index kv_head = problem.kv_head_of(h);
      for (Index i = 0; i < problem.q_len(); ++i) {
        const double* row = problem.q_row(b, h, i);
        const Index c = not_finite(row, problem.head_dim());
        if (c >= 0) return failed("q", row[c], {origin[0] + b, origin[1] + h, origin[2] + i, c});
      }
      for (Index j = 0; j < problem.kv_len(); ++j) {
        if (seen[static_cast<std::size_t>(j)] == 0) continue;
        const std::vector<Index> row = {origin[0] + b, origin[1] / group + kv_head, first_key + j};
        const auto at = [&row](Index c) { return std::vector<Index>{row[0], row[1], row[2], c}; };
        const double* key = problem.k_row(b, kv_head, j);
        const double* value = problem.v_row(b, kv_head, j);
        const Index in_key = not_finite(key, problem.head_dim());
        if (in_key >= 0) return failed("k", key[in_key], at(in_key));
        const Index in_value = not_finite(value, problem.value_dim());
        if (in_value >= 0) return failed("v", value[in_value], at(in_value));
      }
    }
  }
  return std::nullopt;
}

}  // namespace attn
