#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// How softmax saturates where scores are not divided by sqrt(head_dim): a table over head_dim 4 to
/// 1024, with random queries and keys. Returns the exit code.
int run_saturation(const CheckOptions& options, cli::Session& session);

}  // namespace attn
