#include "bench/interleave.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/rng.h"

namespace attn {

Interleaving within_budget(Interleaving wanted, double round_seconds, double budget_seconds) {
  const auto rounds = static_cast<double>(wanted.warmup + wanted.repeats);
  if (round_seconds * rounds <= budget_seconds) return wanted;
  constexpr Index kFewest = 3;
  wanted.warmup = std::min<Index>(wanted.warmup, 1);
  // Less than `rounds`, so it fits.
  const auto affordable = static_cast<Index>(budget_seconds / round_seconds) - wanted.warmup;
  wanted.repeats = std::min(wanted.repeats, std::max(kFewest, affordable));
  return wanted;
}

std::vector<Index> round_order(Index variants, std::uint64_t seed, Index round) {
  std::vector<Index> order(static_cast<std::size_t>(variants));
  std::iota(order.begin(), order.end(), Index{0});
  Rng rng(seed, RandomPurpose::kBenchmark, static_cast<std::uint32_t>(round));
  for (std::size_t left = order.size(); left > 1; --left) {
    const auto chosen = static_cast<std::size_t>(rng.below(static_cast<Index>(left)));
    std::swap(order[left - 1], order[chosen]);
  }
  return order;
}

void run_interleaved(Index variants, const Interleaving& how,
                     const std::function<void(Index variant, bool timed)>& run) {
  for (Index round = 0; round < how.warmup + how.repeats; ++round) {
    for (const Index variant : round_order(variants, how.seed, round)) {
      run(variant, round >= how.warmup);
    }
  }
}

}  // namespace attn
