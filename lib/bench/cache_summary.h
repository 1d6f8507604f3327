#pragma once

#include <optional>
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

/// Those whose cache stores numbers as computed; all where none does. What a type costs is in the
/// rows: a line for each would bury the others.
std::vector<CachePair> exact_pairs(const std::vector<CachePair>& pairs);

/// The median time after each step of a whole piece of work, beginning with the first: the sum of
/// the steps' medians. Empty where no times were taken.
std::vector<double> cumulative_ns(const std::vector<CacheRow>& rows, const CacheRow& whole);

/// The first of the steps 1, 2, ... from which on the cache, as a whole, is ahead, and stays so to
/// the last: where it starts to pay. Nothing where it is not ahead at the end.
std::optional<Index> crossover_step(const std::vector<double>& with,
                                    const std::vector<double>& without);

// Conclusions, a line each.

/// Do counts and outputs agree? With `portable` nothing that depends on the processor's arithmetic
/// is said of outputs that do. `compared`: were outputs asked for?
std::vector<std::string> verdict_lines(const Agreement& agreement, bool portable,
                                       bool compared = true);

/// How many times the rows, and the time where it was measured, it takes without the cache. Where
/// there are several caches, against which.
std::vector<std::string> ratio_lines(const std::vector<CachePair>& pairs);

/// From which token on the cache has saved time, or that it has not to the end: one line for each
/// subject and cache, of its longest work. Nothing unless times of steps were taken.
std::vector<std::string> crossover_lines(const std::vector<CacheRow>& rows);

/// What the machine gave: a line, or nothing before it was measured.
std::vector<std::string> yardstick_lines(const CacheExperiment& experiment);

}  // namespace attn
