#pragma once

#include "cli/session.h"
#include "posenc-dump/options.h"

namespace attn {

/// Rotates /q and /k of a case file and writes the file with all else as it was.
int run_apply(const PosencOptions& options, cli::Session& session);

}  // namespace attn
