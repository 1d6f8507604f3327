#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// Checks the attention layer of one block of a checkpoint: this library's own run of it, or, with
/// --dump, what somebody else recorded of the same layer. The exit code.
int run_block(const CheckOptions& options, cli::Session& session);

}  // namespace attn
