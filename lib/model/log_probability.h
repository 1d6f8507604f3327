#pragma once

#include <span>
#include <vector>

#include "core/index.h"

namespace attn {

/// The token of the largest logit, the lowest id of equals. Throws ShapeError for none.
template <class T>
Index largest_logit(std::span<const T> logits);

/// ln softmax(logits)[token], summed in double whatever T is.
template <class T>
double log_probability(std::span<const T> logits, Index token);

/// The same of every token.
template <class T>
std::vector<double> log_probabilities(std::span<const T> logits);

/// A token and ln softmax(logits) of it.
struct TokenLogProbability {
  Index token = 0;
  double log_prob = 0;
};

/// The `count` likeliest tokens, or all, best first, the lower id first of equals.
template <class T>
std::vector<TokenLogProbability> likeliest(std::span<const T> logits, Index count);

/// By how much the largest logit leads the next one, which is the gap of their log-probabilities
/// too: 0 where they are equal, infinite where there is only one. A lead above the rounding of the
/// logits says that a greedy choice is nobody's accident.
template <class T>
double lead(std::span<const T> logits);

}  // namespace attn
