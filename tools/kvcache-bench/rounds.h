#pragma once

#include <functional>
#include <string>

#include "bench/interleave.h"
#include "cli/session.h"
#include "io/hdf5_writer.h"
#include "kvcache-bench/options.h"

namespace attn {

/// Rounds as asked for; where nobody asked, no more than patience allows, which a note says.
Interleaving rounds_of(const BenchOptions& options, double round_seconds,
                       const cli::Session& session);

/// The same for a serving, whose round is long: where patience ends, the run that verified has
/// warmed up, and one round must do.
Interleaving serving_rounds_of(const BenchOptions& options, double round_seconds,
                               const cli::Session& session);

/// Calls measure(progress), whose progress(done, all) is shown once it takes a while; `what` it
/// counts.
void measure_with_progress(
    const cli::Session& session, const char* what,
    const std::function<void(const std::function<void(Index, Index)>&)>& measure);

/// Writes the output file: fill() puts in what was measured.
void write_bench_file(const BenchOptions& options, const cli::Session& session,
                      const std::string& earlier_history,
                      const std::function<void(Hdf5Writer&)>& fill);

}  // namespace attn
