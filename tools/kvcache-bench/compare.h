#pragma once

#include "cli/session.h"
#include "kvcache-bench/options.h"

namespace attn {

/// Decodes with and without a cache: counts rows, compares outputs, takes times. Returns kNo where
/// a count or an output is wrong; then no times are taken.
int run_compare(const BenchOptions& options, cli::Session& session);

}  // namespace attn
