#include "model/log_probability.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace attn {

template <class T>
Index largest_logit(std::span<const T> logits) {
  require_shape(!logits.empty(), "logits: none");
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;  // an equal one later does not win
  }
  return static_cast<Index>(best);
}

template <class T>
std::vector<double> log_probabilities(std::span<const T> logits) {
  const auto top = static_cast<double>(logits[static_cast<std::size_t>(largest_logit(logits))]);
  double total = 0;
  for (const T logit : logits) total += std::exp(static_cast<double>(logit) - top);
  const double log_total = std::log(total);
  std::vector<double> all(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    all[i] = static_cast<double>(logits[i]) - top - log_total;
  }
  return all;
}

template <class T>
double log_probability(std::span<const T> logits, Index token) {
  require_shape(token >= 0 && token < static_cast<Index>(logits.size()),
                "log-probability: a token outside the logits");
  const auto top = static_cast<double>(logits[static_cast<std::size_t>(largest_logit(logits))]);
  double total = 0;
  for (const T logit : logits) total += std::exp(static_cast<double>(logit) - top);
  return static_cast<double>(logits[static_cast<std::size_t>(token)]) - top - std::log(total);
}

template <class T>
std::vector<TokenLogProbability> likeliest(std::span<const T> logits, Index count) {
  std::vector<TokenLogProbability> all;
  Index token = 0;
  for (const double log_prob : log_probabilities(logits)) all.push_back({token++, log_prob});
  const auto kept = all.begin() + std::min(count, token);
  std::partial_sort(
      all.begin(), kept, all.end(), [](const TokenLogProbability& a, const TokenLogProbability& b) {
        return a.log_prob > b.log_prob || (a.log_prob == b.log_prob && a.token < b.token);
      });
  all.erase(kept, all.end());
  return all;
}

template <class T>
double lead(std::span<const T> logits) {
  const auto best = static_cast<std::size_t>(largest_logit(logits));
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (i == best) continue;
    least = std::min(least, static_cast<double>(logits[best]) - static_cast<double>(logits[i]));
  }
  return least;
}

#define ATTN_LOG_PROBABILITY(T)                                                      \
  template Index largest_logit<T>(std::span<const T>);                               \
  template double log_probability<T>(std::span<const T>, Index);                     \
  template std::vector<double> log_probabilities<T>(std::span<const T>);             \
  template std::vector<TokenLogProbability> likeliest<T>(std::span<const T>, Index); \
  template double lead<T>(std::span<const T>)
ATTN_LOG_PROBABILITY(float);
ATTN_LOG_PROBABILITY(double);
#undef ATTN_LOG_PROBABILITY

}  // namespace attn
