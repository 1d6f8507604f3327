#pragma once

#include "cli/session.h"
#include "kvcache-bench/options.h"

namespace attn {

/// Reads a text with a cache of each pair of number types: a row for each.
int run_quality(const BenchOptions& options, cli::Session& session);

}  // namespace attn
