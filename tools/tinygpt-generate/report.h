#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "model/attention_maps.h"
#include "tinygpt-generate/options.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// One line for each prompt, or for a single one (`as_it_is`) what an encoder makes of it as it is.
std::string fillings_text(const std::vector<Sequence>& sequences, bool as_it_is);

/// The hypotheses of each prompt, best first, with scores and log-probabilities.
std::string beams_text(const std::vector<Sequence>& sequences);

/// A row for each prompt and sample, hypothesis or filling.
std::string answers_tsv(const std::vector<Sequence>& sequences, const Options& options);

/// The document {"results": [...]}. The maps are of a single prompt; empty: none were made.
std::string answers_json(const std::vector<Sequence>& sequences, const Language& language,
                         const Options& options, const std::vector<AttentionMaps>& maps);

/// Every block and head as a small map, with one scale so that they compare, and the induction
/// scores where there are some.
std::string maps_text(const std::vector<AttentionMaps>& maps, const cli::Terminal& terminal);

}  // namespace attn
