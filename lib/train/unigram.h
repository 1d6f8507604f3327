#pragma once

#include <span>

#include "core/index.h"

namespace attn {

/// Mean nats per token of guessing by frequencies alone: tokens that occur held_out[id] times,
/// guessed with probability seen[id] / sum(seen). What was never seen counts as once, as long as it
/// can occur (in either).
double unigram_cross_entropy(std::span<const Index> seen, std::span<const Index> held_out);

}  // namespace attn
