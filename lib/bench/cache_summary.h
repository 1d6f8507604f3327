#pragma once

#include <string>
#include <vector>

#include "bench/cache_experiment.h"

namespace attn {

/// The whole of one piece of work with a cache, and the same without.
struct CachePair {
  const CacheRow* with = nullptr;
  const CacheRow* without = nullptr;

  double row_ratio() const {
    return static_cast<double>(without->key_rows) / static_cast<double>(with->key_rows);
  }
  double time_ratio() const { return without->wall.median() / with->wall.median(); }
};

/// In the order of the rows; they point into `rows`.
std::vector<CachePair> cache_pairs(const std::vector<CacheRow>& rows);

// Conclusions, a line each.

/// Do counts and outputs agree? With `portable` nothing that depends on the processor's arithmetic
/// is said of outputs that do.
std::vector<std::string> verdict_lines(const Agreement& agreement, bool portable);

/// How many times the rows, and the time where it was measured, it takes without the cache.
std::vector<std::string> ratio_lines(const std::vector<CachePair>& pairs);

/// From which length on the cache is faster, at it and at all longer ones, or that it never is; one
/// line per subject. Nothing unless given tokens of several lengths were measured.
std::vector<std::string> crossover_lines(const std::vector<CachePair>& pairs);

}  // namespace attn
