#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// Prints what project, score, scale, mask, softmax and mix make of the inputs, with shapes, head
/// by head; of large ones the first rows and columns. Where an output is given too, a verdict on it
/// follows. Returns the exit code.
int run_steps(const CheckOptions& options, cli::Session& session);

}  // namespace attn
