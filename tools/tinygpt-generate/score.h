#pragma once

#include "tinygpt-generate/options.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// Throws UsageError for a model that foretells no text.
void check_scored(Arch arch);

/// --score: how well the model foretells a text, or its last share.
void run_score(const Options& options, const Transformer<float>& model, const Language& language,
               cli::Session& session);

}  // namespace attn
