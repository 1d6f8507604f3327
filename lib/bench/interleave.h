#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/index.h"

namespace attn {

struct Interleaving {
  Index warmup = 3;        // rounds that are run in full and forgotten
  Index repeats = 7;       // rounds that count
  std::uint64_t seed = 0;  // of the order
};

/// Fewer rounds where one takes long: as many as fit about `budget_seconds`, but one to warm up and
/// three that count at least, which still have a median.
Interleaving within_budget(Interleaving wanted, double round_seconds, double budget_seconds);

/// The order of one round: each of 0 .. variants - 1 once, shuffled by (seed, round). A machine
/// that slows down or a neighbour that wakes up then hits all variants alike, and none always runs
/// in the wake of the same other.
std::vector<Index> round_order(Index variants, std::uint64_t seed, Index round);

/// Calls run(variant, timed) for every variant in each of warmup + repeats rounds; timed is false
/// while warming up.
void run_interleaved(Index variants, const Interleaving& how,
                     const std::function<void(Index variant, bool timed)>& run);

}  // namespace attn
