#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// Three tokens, or random ones, step by step with the laws; returns the exit code.
int run_example(const CheckOptions& options, cli::Session& session);

}  // namespace attn
