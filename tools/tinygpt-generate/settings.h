#pragma once

#include <vector>

#include "tinygpt-generate/options.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// What an encoder-decoder's decoder begins with, or a decoder goes on from.
std::vector<Index> first_tokens(const Sequence& sequence, const Language& language);

/// With notes on stderr about filters that change nothing.
SamplingSettings sampling_settings(const Options& options, const ModelConfig& config,
                                   const cli::Session& session);

/// How many tokens a prompt may get, where nobody said: as many as there is room for.
Index new_tokens(const Options& options, const ModelConfig& config, Index prompt_length);

/// How the model is fed, but for the number of new tokens.
FeedSettings feed_settings(const Options& options);

/// Samples or hypotheses of a prompt.
Index continuations(const Options& options);

/// Throws UsageError for --stop-ids outside the vocabulary, and DataError where the sequences would
/// take more memory than there is.
void check_decoding(const Options& options, const ModelConfig& config,
                    const std::vector<Sequence>& sequences);

/// Positions never trained on are allowed, but the text suffers: the user should not look for a
/// bug. read: tokens that the model sees at a time.
void note_length(const ModelConfig& config, Index read, Index length, const cli::Session& session);

}  // namespace attn
