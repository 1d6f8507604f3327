#pragma once

#include <string>
#include <vector>

#include "model/attention_maps.h"
#include "tinygpt-generate/options.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// All that was read and said, but for the token that ended it, and for an answer's last token and
/// what a learned table has no row for, which were not read; with a window, the last that the model
/// saw together. Of an encoder the text with its masks.
std::vector<Index> tokens_looked_at(const Sequence& sequence, const ModelConfig& config,
                                    const Language& language, const Options& options);

/// Who looked at whom among them, and of an encoder-decoder at the source.
std::vector<AttentionMaps> maps_of(const Sequence& sequence, const Transformer<float>& model,
                                   const Language& language, const Options& options);

/// Writes --dump-attention.
void save_maps(const Options& options, const std::vector<AttentionMaps>& maps,
               const std::string& history, const cli::Session& session);

/// Writes --dump-logits and --dump-hidden, where they are asked for, over the same tokens.
void save_states(const Sequence& sequence, const Transformer<float>& model,
                 const Language& language, const Options& options, const std::string& history,
                 const cli::Session& session);

}  // namespace attn
