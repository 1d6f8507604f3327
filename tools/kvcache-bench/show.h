#pragma once

#include <string>

#include "bench/cache_experiment.h"
#include "cli/option_table.h"
#include "cli/terminal.h"
#include "kvcache-bench/options.h"

namespace attn {

/// --show draws curves against tokens: it needs several, and no other mode.
void check_show(const cli::OptionTable& table, const BenchOptions& options);

/// The key rows that were counted against the tokens, a curve for each way; where times were taken,
/// those below them.
std::string bench_picture(const CacheExperiment& experiment, bool prompt_apart, bool timed,
                          const cli::Terminal& terminal);

}  // namespace attn
