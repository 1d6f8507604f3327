#pragma once

#include <string>

#include "bench/bench_table.h"
#include "bench/cache_experiment.h"
#include "bench/machine.h"
#include "cli/session.h"
#include "kvcache-bench/options.h"

namespace attn {

/// What is decoded; with --counts-only all there is to say, so that it is the same everywhere.
BenchContext work_context(const BenchOptions& options, const CacheExperiment& experiment);

/// Adds what times depend on: machine and threads. Says it on stderr too, in a line with version
/// and build, and warns of what makes times doubtful there.
void add_timing_context(BenchContext& context, const cli::Session& session,
                        const BenchOptions& options, const Machine& machine);

/// What decodes, as the report's first line has it.
std::string headline(const BenchOptions& options, const CacheExperiment& experiment);

/// How a run ended, for the line on stderr: "counts and outputs agree".
const char* agreement_words(const Agreement& agreement);

}  // namespace attn
