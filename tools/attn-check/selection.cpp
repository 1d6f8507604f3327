#include "attn-check/selection.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"

namespace attn {
namespace {

// Weights of a head that are computed at a time where nobody says which.
constexpr Index kMostWeights = Index{1} << 22;

std::vector<Index> numbers(const std::vector<Index>& given, Index count, const char* option) {
  std::vector<Index> chosen = given;
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  if (!chosen.empty() && chosen.back() >= count) {
    throw UsageError(
        fmt::format("{}: there is no {}, they are 0 to {}", option, chosen.back(), count - 1));
  }
  return chosen;
}

std::vector<Index> up_to(Index count) {
  std::vector<Index> all;
  for (Index n = 0; n < count; ++n) all.push_back(n);
  return all;
}

}  // namespace

Selection select(const AttentionProblem& problem, const CheckOptions& o, Index heads) {
  Selection chosen;
  chosen.heads = o.head.empty()
                     ? up_to(heads == 0 ? problem.heads() : std::min(heads, problem.heads()))
                     : numbers(o.head, problem.heads(), "--head");
  const Index room = std::max<Index>(1, kMostWeights / std::max<Index>(problem.kv_len(), 1));
  chosen.rows = o.rows.empty() ? up_to(std::min(problem.q_len(), room))
                               : numbers(o.rows, problem.q_len(), "--rows");
  return chosen;
}

}  // namespace attn
