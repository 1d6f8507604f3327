#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

// What heads are worth, and where each looks. Both return the exit code.

/// Layers of one width with other numbers of heads, side by side: parameters, FLOPs, ranks.
int run_compare_heads(const CheckOptions& options, cli::Session& session);

/// Entropy, weight on self, previous, first and future, induction score of each head: of a case's
/// own weights, else of its q and k, or of /attention as `tinygpt-generate --dump-attention` wrote
/// it.
int run_head_stats(const CheckOptions& options, cli::Session& session);

}  // namespace attn
