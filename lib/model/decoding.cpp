#include "model/decoding.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/error.h"
#include "model/token_checks.h"

namespace attn {

template <class T>
DecodeSession<T>::DecodeSession(const Transformer<T>& model, Index capacity, bool use_cache,
                                int threads)
    : model_(model), work_(threads), capacity_(capacity) {
  require_shape(model.config().arch == Arch::kDecoder, "decode session: the model is no decoder");
  if (use_cache) cache_.emplace(model.make_cache(1, capacity));
}

template <class T>
DecodeSession<T>::DecodeSession(const Transformer<T>& model, const SourceTokens& source,
                                Index capacity, bool use_cache, int threads)
    : model_(model),
      work_(threads),
      source_(source.ids.begin(), source.ids.end()),
      source_mask_(source.mask.begin(), source.mask.end()),
      capacity_(capacity) {
  require_shape(model.config().arch == Arch::kEncoderDecoder,
                "decode session: a source for a model that reads none");
  require_shape(!source_.empty(), "decode session: no source");
  require_shape(source_mask_.empty() || source_mask_.size() == source_.size(),
                "decode session: length of the source's mask");
  if (use_cache) {
    cache_.emplace(model.make_cache(1, capacity, static_cast<Index>(source_.size())));
  }
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
  input.source = source_;
  if (!source_.empty()) {
    input.source_rows = {1, static_cast<Index>(source_.size()),
                         source_mask_.empty() ? nullptr : source_mask_.data()};
  }
  const Matrix<T> logits =
      model_.forward(pass, input, cache_ ? &*cache_ : nullptr, nullptr, LogitRows::kLast);
  logits_.assign(logits.row(0), logits.row(0) + logits.cols());
  return logits_;
}

namespace {

// Prompt, ids and lengths that can be decoded at all.
void check_prompt(const ModelConfig& config, std::span<const Index> prompt, Index new_tokens) {
  check_tokens(prompt, config.vocab_size, "prompt");
  if (new_tokens < 0) {
    throw UsageError(fmt::format("--new-tokens must not be negative: got {}", new_tokens));
  }
  const auto length = static_cast<Index>(prompt.size());
  const auto rows = checked_add(length - 1, std::max(new_tokens, Index{1}));
  const auto longest = config.longest_sequence();
  if (longest && (!rows || *rows > *longest)) {
    throw UsageError(fmt::format(
        "position learned: the table has {} rows (max_positions), a prompt of {} and {} new tokens "
        "need {}",
        *longest, length, new_tokens, rows.value_or(std::numeric_limits<Index>::max())));
  }
  if (!rows) {
    throw UsageError(
        fmt::format("a prompt of {} and {} new tokens are too many", length, new_tokens));
  }
}

// Both arrangements: the session knows what it reads.
template <class T>
Generation run(DecodeSession<T>& session, std::span<const Index> prompt,
               const GenerationSettings& settings) {
  Generation result;
  std::span<const Index> fed = prompt;
  for (Index i = 0; i < settings.new_tokens; ++i) {
    const std::span<const T> logits = session.feed(fed);
    const Index token = choose_token<T>(logits, settings.sampling, session.length());
    result.tokens.push_back(token);
    result.log_probs.push_back(log_probability<T>(logits, token));
    result.smallest_lead = std::min(result.smallest_lead, lead<T>(logits));
    if (settings.on_token) settings.on_token(token);
    if (settings.eos == token) {
      result.finish = Finish::kEos;
      break;
    }
    fed = std::span<const Index>(&result.tokens.back(), 1);
  }
  result.counts = session.counts();
  if (session.cache() != nullptr) result.cache_bytes = session.cache()->bytes();
  return result;
}

// The last new token is not fed: nothing comes after it.
Index fed_tokens(std::span<const Index> prompt, const GenerationSettings& settings) {
  return static_cast<Index>(prompt.size()) + settings.new_tokens - 1;
}

}  // namespace

std::optional<Index> longest_continuation(const ModelConfig& config, Index prompt_length) {
  const auto longest = config.longest_sequence();
  if (!longest) return std::nullopt;
  return std::max(Index{0}, *longest - prompt_length + 1);
}

template <class T>
Generation generate(const Transformer<T>& model, std::span<const Index> prompt,
                    const GenerationSettings& settings) {
  check_prompt(model.config(), prompt, settings.new_tokens);
  if (settings.new_tokens == 0) return {};
  DecodeSession<T> session(model, fed_tokens(prompt, settings), settings.use_cache,
                           settings.threads);
  return run(session, prompt, settings);
}

template <class T>
Generation generate(const Transformer<T>& model, const SourceTokens& source,
                    std::span<const Index> prompt, const GenerationSettings& settings) {
  check_tokens(source.ids, model.config().source_vocab_size, "source");
  check_positions(model.config(), source.ids, "source");
  check_prompt(model.config(), prompt, settings.new_tokens);
  if (settings.new_tokens == 0) return {};
  DecodeSession<T> session(model, source, fed_tokens(prompt, settings), settings.use_cache,
                           settings.threads);
  return run(session, prompt, settings);
}

#define ATTN_DECODING(T)                                                         \
  template class DecodeSession<T>;                                               \
  template Generation generate<T>(const Transformer<T>&, std::span<const Index>, \
                                  const GenerationSettings&);                    \
  template Generation generate<T>(const Transformer<T>&, const SourceTokens&,    \
                                  std::span<const Index>, const GenerationSettings&)
ATTN_DECODING(float);
ATTN_DECODING(double);
#undef ATTN_DECODING

}  // namespace attn
