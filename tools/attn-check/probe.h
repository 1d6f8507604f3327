#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// Writes a folder of cases without /out whose outputs give mistakes away (check/cases/probes.h),
/// for somebody to run their kernel on.
int run_make_probe(const CheckOptions& options, cli::Session& session);

}  // namespace attn
