#include "model/induction_score.h"

#include <unordered_map>

#include "core/error.h"

namespace attn {

std::optional<double> induction_score(Matrix<const float> map, std::span<const Index> ids) {
  const auto n = static_cast<Index>(ids.size());
  require_shape(map.rows() == n && map.cols() == n, "induction score: a map of other tokens");
  std::unordered_map<Index, Index> last;  // where each token stood last
  double sum = 0;
  Index found = 0;
  for (Index query = 0; query < n; ++query) {
    const auto [at, first] = last.try_emplace(ids[static_cast<std::size_t>(query)], query);
    if (first) continue;
    sum += static_cast<double>(map(query, at->second + 1));
    ++found;
    at->second = query;
  }
  if (found == 0) return std::nullopt;
  return sum / static_cast<double>(found);
}

}  // namespace attn
