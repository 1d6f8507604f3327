#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// Measures what attention costs in time and memory over the lengths given, by the fast kernel and
/// by the one that writes its weights down, and fits the exponents of both.
int run_cost(const CheckOptions& options, cli::Session& session);

}  // namespace attn
