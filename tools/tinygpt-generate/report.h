#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "model/attention_maps.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// One line for each prompt, or for a single one (`as_it_is`) what the model says as it is. echo:
/// the prompt goes first.
std::string answers_text(const std::vector<Sequence>& sequences, const Language& language,
                         bool echo, bool as_it_is);

/// The document {"results": [...]}. The maps are of a single prompt; empty: none were made.
std::string answers_json(const std::vector<Sequence>& sequences, const Language& language,
                         bool echo, const std::vector<AttentionMaps>& maps);

/// Every block and head as a small map, with one scale so that they compare, and the induction
/// scores where there are some.
std::string maps_text(const std::vector<AttentionMaps>& maps, const cli::Terminal& terminal);

}  // namespace attn
