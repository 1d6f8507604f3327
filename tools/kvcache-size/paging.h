#pragma once

#include "cli/session.h"
#include "kvcache-size/options.h"
#include "sizing/size_grid.h"

namespace attn {

/// --lengths: what is reserved and what is used for sequences of those lengths, contiguously and in
/// pages of each --page-sizes.
void report_paging(const SizeGrid& grid, const SizeOptions& options, cli::Session& session);

}  // namespace attn
