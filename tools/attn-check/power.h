#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// Says of each known mistake whether a test with these inputs and this tolerance would notice it,
/// and what to change where it would not. Needs no output. Returns kNo where one would go
/// unnoticed.
int run_power(const CheckOptions& options, cli::Session& session);

}  // namespace attn
