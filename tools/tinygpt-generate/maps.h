#pragma once

#include <string>
#include <vector>

#include "model/attention_maps.h"
#include "tinygpt-generate/options.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// Who looked at whom: all that was read and said, but for the end mark, and for an answer's last
/// token and what a learned table has no row for, which were not read. Of an encoder the text with
/// its masks.
std::vector<AttentionMaps> maps_of(const Sequence& sequence, const Transformer<float>& model,
                                   const Language& language, int threads);

/// Writes --dump-attention.
void save_maps(const Options& options, const std::vector<AttentionMaps>& maps,
               const std::string& history, const cli::Session& session);

}  // namespace attn
