#pragma once

#include "cli/session.h"
#include "kvcache-bench/options.h"

namespace attn {

/// Serves sequences of unequal length: one after another, reserved at the longest, in pages.
int run_serve(const BenchOptions& options, cli::Session& session);

}  // namespace attn
