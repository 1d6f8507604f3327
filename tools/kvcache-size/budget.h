#pragma once

#include "cli/session.h"
#include "kvcache-size/options.h"
#include "sizing/size_grid.h"

namespace attn {

/// --memory: what fits. With --tokens the largest batch, with --batch the largest context, with
/// both whether they fit and how many bytes are left or short, with neither the frontier of both.
/// Returns the exit code: 1 where one question was asked and it does not fit.
int report_budget(const SizeGrid& grid, const SizeOptions& options, cli::Session& session);

}  // namespace attn
