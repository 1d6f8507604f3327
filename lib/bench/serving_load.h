#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/index.h"

namespace attn {

/// One sequence that somebody wants: a prompt, and tokens after it.
struct ServingRequest {
  Index prompt = 1;
  Index new_tokens = 1;
  Index arrival = 0;  // the step before which it comes

  /// Rows that a cache holds of it at its end: the last token is never fed back.
  Index rows() const { return prompt + new_tokens - 1; }
};

/// What is to be served, in order of arrival.
struct ServingLoad {
  std::vector<ServingRequest> requests;
  Index longest = 1;        // rows that a reservation made beforehand gives to each
  Index shared_prefix = 0;  // tokens that all prompts begin with

  Index count() const { return static_cast<Index>(requests.size()); }
  Index rows() const;        // of all sequences
  Index new_tokens() const;  // of all sequences
};

struct ServingLoadSettings {
  /// Tokens of each prompt, all of them in a shorter sequence; or tokens after it. With neither,
  /// the prompt is the first half.
  std::optional<Index> prompt, new_tokens;
  Index shared_prefix = 0;
  /// Steps between two arrivals on average, drawn from the exponential distribution; 0: all are
  /// there at the start.
  double arrival_gap = 0;
  Index longest = 0;  // 0: the longest of the lengths
  std::uint64_t seed = 0;
};

/// Sequences of these lengths, counted as a cache counts them: rows() of each. Throws UsageError
/// for lengths below 1 or above `longest`, for a shared prefix that is not shorter than each
/// sequence, and for sums that leave 63 bits.
ServingLoad serving_load(const std::vector<Index>& lengths, const ServingLoadSettings& settings);

/// What the sequences read: ids below `kinds`, drawn by the seed, the shared prefix the same in
/// all. [request][row].
std::vector<std::vector<Index>> serving_ids(const ServingLoad& load, Index kinds,
                                            std::uint64_t seed);

}  // namespace attn
