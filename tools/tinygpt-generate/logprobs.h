#pragma once

#include <string>
#include <vector>

#include "tinygpt-generate/options.h"
#include "tinygpt-generate/prompts.h"

namespace attn {

/// Writes --logprobs. A row is a sample, a hypothesis or a filling, of one prompt after another:
///   /prompt, /sample  (rows) int64, from 0: whose it is
///   /lengths          (rows) int64: how many new tokens it has, the end among them
///   /tokens           (rows, most) int64, -1 after the end
///   /log_probs        (rows, most) float64: ln softmax of the model's own logits, 0 after the end
///   /log_prob         (rows) float64: their sum
///   /alternatives/tokens, /alternatives/log_probs  (rows, most, N): the likeliest tokens, best
///                     first, padded in the same way
///   /places           (rows, most) int64, of an encoder: where each stands
/// and of beams /scores (rows) and, where asked for, /pool_after_round (prompts, rounds, width,
/// most), -1 after a hypothesis' end and where there is none.
void save_logprobs(const Options& options, const std::vector<Sequence>& sequences,
                   const std::string& history, const cli::Session& session);

}  // namespace attn
