#pragma once

#include "tinygpt-generate/options.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// --explain-next: why the token after the prompt is chosen.
void explain_next(const Options& options, const Transformer<float>& model, const Language& language,
                  cli::Session& session);

/// The same of the rows of --logits, without a model. The prompt's ids, where there are some, are
/// what a repetition penalty has seen.
void explain_logits(const Options& options, cli::Session& session);

}  // namespace attn
