#pragma once

#include "cli/session.h"
#include "posenc-dump/options.h"

namespace attn {

/// Holds somebody's tables to their formula; kNo where they differ.
int run_check(const PosencOptions& options, cli::Session& session);

/// Tells about a mistake by its name.
int run_explain(const PosencOptions& options, cli::Session& session);

}  // namespace attn
