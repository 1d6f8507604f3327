#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// What there is to say of the mistake that --explain names, or a list of all names; returns the
/// exit code. Throws UsageError, with the nearest name, for one that does not exist.
int run_explain(const CheckOptions& options, cli::Session& session);

}  // namespace attn
