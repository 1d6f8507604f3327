#pragma once

#include "cli/session.h"
#include "tinygpt-train/options.h"

namespace attn {

/// Writes a text's token ids instead of training on them.
int run_tokenize(const TrainOptions& options, cli::Session& session);

}  // namespace attn
