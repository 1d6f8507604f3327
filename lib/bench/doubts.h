#pragma once

#include <string>
#include <vector>

#include "bench/cache_experiment.h"
#include "bench/machine.h"

namespace attn {

/// Why times that will be taken here deserve no belief: a Debug build, a busy machine, more threads
/// than cores. A line each.
std::vector<std::string> doubts_before(const Machine& machine, const std::string& build,
                                       Index threads);

/// Why times that were taken deserve little: a spread above 10 % of the median, and runs too short
/// for the clock.
std::vector<std::string> spread_doubts(const std::vector<const Samples*>& times);

/// The same of an experiment's, and a working set, or keys and values, inside the second-level
/// cache.
std::vector<std::string> doubts_after(const CacheExperiment& experiment, const Machine& machine);

}  // namespace attn
