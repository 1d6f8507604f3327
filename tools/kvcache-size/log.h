#pragma once

#include "cli/session.h"
#include "kvcache-size/options.h"
#include "sizing/size_grid.h"

namespace attn {

/// --log: the cache lines of an engine's log with our arithmetic beside them. Returns the exit
/// code: 1 where a line differs, 0 where all agree.
int report_log(const SizeGrid& grid, const SizeOptions& options, cli::Session& session);

}  // namespace attn
