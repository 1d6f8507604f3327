#include "model/decoding.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/rng.h"

namespace attn {

template <class T>
DecodeSession<T>::DecodeSession(const Transformer<T>& model, Index capacity, bool use_cache,
                                int threads)
    : model_(model), work_(threads), capacity_(capacity) {
  require_shape(model.config().arch == Arch::kDecoder, "decode session: the model is no decoder");
  if (use_cache) cache_.emplace(model.make_cache(1, capacity));
}

template <class T>
std::span<const T> DecodeSession<T>::feed(std::span<const Index> ids) {
  require_shape(!ids.empty(), "decode session: no tokens");
  const auto count = static_cast<Index>(ids.size());
  require_shape(length_ + count <= capacity_, "decode session: beyond its capacity");
  length_ += count;
  std::span<const Index> fed = ids;
  if (!cache_) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    fed = ids_;
  }
  const Arena::Scope scope(work_.arena());
  Pass<T> pass = model_.pass(work_);
  pass.counts = &counts_;
  pass.probe = probe_;
  TokenInput input;
  input.ids = fed;
  input.rows.seq_len = static_cast<Index>(fed.size());
  const Matrix<T> logits =
      model_.forward(pass, input, cache_ ? &*cache_ : nullptr, nullptr, LogitRows::kLast);
  logits_.assign(logits.row(0), logits.row(0) + logits.cols());
  return logits_;
}

namespace {

template <class T>
Index largest(std::span<const T> logits) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < logits.size(); ++i) {
    if (logits[i] > logits[best]) best = i;  // an equal one later does not win
  }
  return static_cast<Index>(best);
}

}  // namespace

template <class T>
Index choose_token(std::span<const T> logits, const SamplingSettings& settings, Index position) {
  require_shape(!logits.empty(), "choose token: no logits");
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
Generation generate(const Transformer<T>& model, std::span<const Index> prompt,
                    const GenerationSettings& settings) {
  if (prompt.empty()) throw UsageError("the prompt is empty: at least one token is needed");
  if (settings.new_tokens < 0) {
    throw UsageError(fmt::format("--new-tokens must not be negative: got {}", settings.new_tokens));
  }
  const auto prompt_length = static_cast<Index>(prompt.size());
  const auto length = checked_add(prompt_length, settings.new_tokens);
  const auto longest = model.config().longest_sequence();
  if (!length || (longest && *length > *longest)) {
    throw UsageError(
        longest
            ? fmt::format("position learned: the table has {} rows (max_positions), a prompt of "
                          "{} and {} new tokens need {}",
                          *longest, prompt_length, settings.new_tokens,
                          length.value_or(std::numeric_limits<Index>::max()))
            : fmt::format("a prompt of {} and {} new tokens are too many", prompt_length,
                          settings.new_tokens));
  }
  Generation result;
  if (settings.new_tokens == 0) return result;
  // The last new token is not fed: nothing comes after it.
  DecodeSession<T> session(model, *length - 1, settings.use_cache, settings.threads);
  std::span<const Index> fed = prompt;
  for (Index i = 0; i < settings.new_tokens; ++i) {
    const std::span<const T> logits = session.feed(fed);
    const Index token = choose_token<T>(logits, settings.sampling, session.length());
    result.tokens.push_back(token);
    if (settings.on_token) settings.on_token(token);
    fed = std::span<const Index>(&result.tokens.back(), 1);
  }
  result.counts = session.counts();
  if (session.cache() != nullptr) result.cache_bytes = session.cache()->bytes();
  return result;
}

#define ATTN_DECODING(T)                                                              \
  template class DecodeSession<T>;                                                    \
  template Index choose_token<T>(std::span<const T>, const SamplingSettings&, Index); \
  template Generation generate<T>(const Transformer<T>&, std::span<const Index>,      \
                                  const GenerationSettings&)
ATTN_DECODING(float);
ATTN_DECODING(double);
#undef ATTN_DECODING

}  // namespace attn
