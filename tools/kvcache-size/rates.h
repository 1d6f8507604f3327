#pragma once

#include "cli/session.h"
#include "kvcache-size/options.h"
#include "sizing/size_grid.h"

namespace attn {

/// --bandwidth, --flops: what a step of decoding reads and computes, the time bounds that follow,
/// the batch from which the cache is the larger part, and with --min-rate the largest batch that
/// still gives each sequence its rate.
void report_rates(const SizeGrid& grid, const SizeOptions& options, cli::Session& session);

}  // namespace attn
