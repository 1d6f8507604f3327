#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// --merge: joins answers to parts of the keys by their log-sum-exp, and checks what can be.
int run_merge(const CheckOptions& options, cli::Session& session);

}  // namespace attn
