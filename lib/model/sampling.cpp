#include "model/sampling.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/rng.h"

namespace attn {
namespace {

template <class T>
Index largest(std::span<const T> logits) {
  require_shape(!logits.empty(), "choose token: no logits");
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;  // an equal one later does not win
  }
  return static_cast<Index>(best);
}

}  // namespace

template <class T>
Index choose_token(std::span<const T> logits, const SamplingSettings& settings, Index position) {
  if (!std::isfinite(settings.temperature) || settings.temperature < 0) {
    throw UsageError(fmt::format("--temperature must be 0 (greedy) or a positive number: got {}",
                                 settings.temperature));
  }
  const Index best = largest(logits);
  if (settings.temperature == 0) return best;

  // The inverse of the cumulative distribution at one uniform number, in order of id.
  const auto top = static_cast<double>(logits[static_cast<std::size_t>(best)]);
  const auto share = [&](T logit) {
    return std::exp((static_cast<double>(logit) - top) / settings.temperature);
  };
  double total = 0;
  for (const T logit : logits) total += share(logit);
  // A stream is named by one number: the sample's key comes from the seed, the position names the
  // stream within it.
  Rng keys(settings.seed, RandomPurpose::kSampling, settings.sample);
  const std::uint64_t high = keys.bits();
  const std::uint64_t low = keys.bits();
  Rng rng(high << 32 | low, RandomPurpose::kSampling, static_cast<std::uint32_t>(position));
  const double drawn = rng.uniform() * total;
  double sum = 0;
  Index chosen = best;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double part = share(logits[i]);
    if (part == 0) continue;
    chosen = static_cast<Index>(i);
    sum += part;
    if (drawn < sum) break;
  }
  return chosen;
}

template <class T>
double log_probability(std::span<const T> logits, Index token) {
  require_shape(token >= 0 && token < static_cast<Index>(logits.size()),
                "log-probability: a token outside the logits");
  const auto top = static_cast<double>(logits[static_cast<std::size_t>(largest(logits))]);
  double total = 0;
  for (const T logit : logits) total += std::exp(static_cast<double>(logit) - top);
  return static_cast<double>(logits[static_cast<std::size_t>(token)]) - top - std::log(total);
}

template <class T>
double lead(std::span<const T> logits) {
  const auto best = static_cast<std::size_t>(largest(logits));
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (i == best) continue;
    least = std::min(least, static_cast<double>(logits[best]) - static_cast<double>(logits[i]));
  }
  return least;
}

#define ATTN_SAMPLING(T)                                                              \
  template Index choose_token<T>(std::span<const T>, const SamplingSettings&, Index); \
  template double log_probability<T>(std::span<const T>, Index);                      \
  template double lead<T>(std::span<const T>)
ATTN_SAMPLING(float);
ATTN_SAMPLING(double);
#undef ATTN_SAMPLING

}  // namespace attn
