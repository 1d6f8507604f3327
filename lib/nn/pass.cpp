#include "nn/pass.h"

#include <algorithm>

#include "core/error.h"

namespace attn {

Workspace::Workspace(int threads) {
  for (int i = 0; i < std::max(threads, 1); ++i) workers_.emplace_back();
}

int Workspace::threads_for(Index multiplications) const {
  constexpr Index kWorthThreads = Index{1} << 21;
  return multiplications >= kWorthThreads ? threads() : 1;
}

Index KeyRowCounts::each() const {
  require_shape(!rows.empty(), "key row counts: nothing was counted");
  const Index first = rows.begin()->second;
  for (const auto& entry : rows) {
    require_shape(entry.second == first, "key row counts: the projections differ");
  }
  return first;
}

}  // namespace attn
