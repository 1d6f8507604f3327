#include "check/diagnosis/causal_leak.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check/reference/attention_row.h"
#include "core/parallel.h"

namespace attn {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sums that are built up key by key round otherwise than the steps that limits come from.
constexpr double kRoom = 4;
constexpr Index kNoFit = -1;

// How many keys beyond its position a row has seen, the fewest that give it.
Index later_keys(const Findings& f, const AttentionProblem& open, Index at) {
  const AttentionProblem& problem = f.recorded.problem;
  const Index head = at / problem.q_len();
  const Index i = at % problem.q_len();
  const Index b = head / problem.heads();
  const Index h = head % problem.heads();
  AttentionRow row;
  attention_row(open, b, h, i, row);
  const double sink =
      problem.sinks.empty() ? -kInfinity : problem.sinks[static_cast<std::size_t>(h)];
  double top = sink;
  for (const double score : row.scores) top = std::max(top, score);
  const Index features = problem.value_dim();
  const double* given = f.recorded.out->data() + at * features;
  const double most = kRoom * f.of_out.max_error;
  std::vector<double> sums(static_cast<std::size_t>(features), 0.0);
  double share = top == -kInfinity ? 0 : std::exp(sink - top);
  const auto fits = [&] {
    for (Index c = 0; c < features; ++c) {
      const double expected = share > 0 ? sums[static_cast<std::size_t>(c)] / share : 0;
      if (!(std::abs(given[c] - expected) <= most)) return false;
    }
    return true;
  };
  const Index position = sight_of(problem, b, i).position;
  const Index keys = problem.kv_len();
  for (Index j = 0; j < keys; ++j) {
    const double score = row.scores[static_cast<std::size_t>(j)];
    if (j > position && score != -kInfinity && fits()) return std::max<Index>(0, j - 1 - position);
    if (score == -kInfinity) continue;
    const double weight = std::exp(score - top);
    const double* value = open.v_row(b, open.kv_head_of(h), j);
    for (Index c = 0; c < features; ++c) sums[static_cast<std::size_t>(c)] += weight * value[c];
    share += weight;
  }
  return fits() ? std::max<Index>(0, keys - 1 - position) : kNoFit;
}

}  // namespace

std::optional<Diagnosis> leaking_rows(const Findings& f, int threads) {
  const AttentionProblem& problem = f.recorded.problem;
  if (!problem.rules.causal || !check_failed(f.verdict, "out")) return std::nullopt;
  AttentionProblem open = problem;
  open.rules.causal = false;
  std::vector<Index> later(static_cast<std::size_t>(f.truth.lse.size()));
  parallel_for(f.truth.lse.size(), threads, [&](Index at, int) {
    const double* truth = f.truth.out.data() + at * problem.value_dim();
    const double* given = f.recorded.out->data() + at * problem.value_dim();
    bool right = true;
    for (Index c = 0; c < problem.value_dim(); ++c) {
      right = right && (std::abs(given[c] - truth[c]) <= f.of_out.max_error ||
                        (std::isnan(given[c]) && std::isnan(truth[c])));
    }
    later[static_cast<std::size_t>(at)] = right ? 0 : later_keys(f, open, at);
  });
  Index leaking = 0;
  Index most = 0;
  Index first = 0;
  for (std::size_t n = 0; n < later.size(); ++n) {
    if (later[n] == kNoFit) return std::nullopt;
    if (later[n] > 0 && leaking++ == 0) first = static_cast<Index>(n);
    most = std::max(most, later[n]);
  }
  if (leaking == 0) return std::nullopt;
  const Index head = first / problem.q_len();
  return Diagnosis{
      "causal-leak",
      fmt::format("{} of {} rows see up to {} later {}, the first is ({}, {}, {})", leaking,
                  later.size(), most, most == 1 ? "key" : "keys", head / problem.heads(),
                  head % problem.heads(), first % problem.q_len()),
      DiagnosisKind::kMistake};
}

}  // namespace attn
