#pragma once

#include <cstdint>
#include <span>

#include "core/index.h"

namespace attn {

struct SamplingSettings {
  double temperature = 0;  // 0: greedy; otherwise logits are divided by it
  std::uint64_t seed = 0;
  std::uint32_t sample = 0;  // number of the sample: an independent stream of the same seed
};

/// The next token. Greedy takes the largest logit, the lowest id of equals. Sampling draws from
/// softmax(logits / temperature) by one uniform number of (seed, sample, position), so a token
/// depends on nothing drawn before it. Throws UsageError for a negative or non-finite temperature.
template <class T>
Index choose_token(std::span<const T> logits, const SamplingSettings& settings, Index position);

/// ln softmax(logits)[token], summed in double whatever T is.
template <class T>
double log_probability(std::span<const T> logits, Index token);

/// By how much the largest logit leads the next one, which is the gap of their log-probabilities
/// too: 0 where they are equal, infinite where there is only one. A lead above the rounding of the
/// logits says that a greedy choice is nobody's accident.
template <class T>
double lead(std::span<const T> logits);

}  // namespace attn
