#pragma once

#include <vector>

#include "tinygpt-generate/options.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// Goes on from each prompt, or answers it. Refusals name the prompt. In text, what is drawn is
/// printed as it is made.
void decode(const Options& options, const Transformer<float>& model, const Language& language,
            std::vector<Sequence>& sequences, cli::Session& session);

/// Guesses what each prompt hides, with an encoder.
void fill(const Options& options, const Transformer<float>& model, const Language& language,
          std::vector<Sequence>& sequences, const cli::Session& session);

}  // namespace attn
