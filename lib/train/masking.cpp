#include "train/masking.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "ops/cross_entropy.h"

namespace attn {

void Masking::hide(std::span<Index> ids, std::span<Index> targets, Rng& rng) const {
  if (!(fraction > 0 && fraction <= 1)) {
    throw UsageError(
        fmt::format("--mask-fraction must be above 0 and at most 1: got {}", fraction));
  }
  std::vector<char> chosen(ids.size());
  for (char& one : chosen) one = rng.uniform() < fraction ? 1 : 0;
  if (std::count(chosen.begin(), chosen.end(), 1) == 0) {
    chosen[static_cast<std::size_t>(rng.below(static_cast<Index>(ids.size())))] = 1;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    targets[i] = chosen[i] != 0 ? ids[i] : kIgnoreIndex;
    if (chosen[i] == 0) continue;
    const double fate = rng.uniform();
    if (fate < kHidden) {
      ids[i] = mask;
    } else if (fate < kHidden + kRandom) {
      ids[i] = rng.below(tokens);
    }
  }
}

}  // namespace attn
