#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// The weights of chosen heads and rows, of q and k alone: printed, drawn, written to --output.
/// Returns the exit code.
int run_print_weights(const CheckOptions& options, cli::Session& session);

}  // namespace attn
