#include "model/decoding.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "model/token_checks.h"

namespace attn {
namespace {

// Rows of positions that a decoder needs at a time; nothing where they leave 63 bits.
std::optional<Index> rows_needed(Index prompt_length, Index new_tokens, Index window) {
  const auto rows = checked_add(prompt_length - 1, std::max(new_tokens, Index{1}));
  return rows && window > 0 ? std::min(*rows, window) : rows;
}

void check_window(const ModelConfig& config, Index window) {
  const auto longest = config.longest_sequence();
  if (window < 0) throw UsageError(fmt::format("--window must be 0 or more: got {}", window));
  if (longest && window > *longest) {
    throw UsageError(
        fmt::format("{}, a window of {} needs as many", config.longest_sequence_reason(), window));
  }
}

// The continuations of one prompt, on their way.
template <class T>
class Samples {
 public:
  Samples(DecodeSession<T>& session, const GenerationSettings& settings)
      : session_(session),
        settings_(settings),
        results_(static_cast<std::size_t>(settings.samples)),
        active_(results_.size()),
        rows_(results_.size(), 0) {
    std::iota(active_.begin(), active_.end(), std::size_t{0});
  }

  std::vector<Generation> run(std::span<const Index> prompt) {
    std::vector<Index> fed(prompt.begin(), prompt.end());
    for (Index i = 0; i < settings_.new_tokens; ++i) {
      fed = choose(session_.feed_each(fed));
      if (active_.empty() || i + 1 == settings_.new_tokens) break;
      session_.fork(rows_);
      std::iota(rows_.begin(), rows_.end(), Index{0});
    }
    for (Generation& result : results_) {
      result.counts = session_.counts();
      if (session_.cache() != nullptr) result.cache_bytes = session_.cache()->bytes();
    }
    return std::move(results_);
  }

 private:
  // One token for each active sample, from its row of the logits. Returns the tokens of those that
  // go on, and keeps these alone.
  std::vector<Index> choose(const Matrix<const T>& logits) {
    std::vector<Index> tokens;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const std::span<const T> row(logits.row(rows_[i]), static_cast<std::size_t>(logits.cols()));
      if (!add(active_[i], row, session_.ids(rows_[i]))) continue;
      tokens.push_back(results_[active_[i]].tokens.back());
      active_[kept] = active_[i];
      rows_[kept] = rows_[i];
      ++kept;
    }
    active_.resize(kept);
    rows_.resize(kept);
    return tokens;
  }

  // False where that was its last token.
  bool add(std::size_t sample, std::span<const T> logits, std::span<const Index> seen) {
    SamplingSettings sampling = settings_.sampling;
    sampling.sample += static_cast<std::uint32_t>(sample);
    const Choice choice = choose_with_margin<T>(logits, seen, sampling, session_.length());
    Generation& result = results_[sample];
    result.tokens.push_back(choice.token);
    result.log_probs.push_back(log_probability<T>(logits, choice.token));
    if (settings_.alternatives > 0) {
      result.alternatives.push_back(likeliest<T>(logits, settings_.alternatives));
    }
    result.smallest_lead = std::min(result.smallest_lead, choice.margin);
    const bool goes_on =
        !settings_.on_token || settings_.on_token(static_cast<Index>(sample), choice.token);
    if (settings_.eos == choice.token) {
      result.finish = Finish::kEos;
    } else if (std::count(settings_.stop_ids.begin(), settings_.stop_ids.end(), choice.token) > 0) {
      result.finish = Finish::kStopToken;
    } else if (!goes_on) {
      result.finish = Finish::kStopped;
    } else {
      return true;
    }
    return false;
  }

  DecodeSession<T>& session_;
  const GenerationSettings& settings_;
  std::vector<Generation> results_;
  std::vector<std::size_t> active_;  // samples that go on
  std::vector<Index> rows_;          // and the sequence of the session that each goes on from
};

}  // namespace

std::optional<Index> longest_continuation(const ModelConfig& config, Index prompt_length,
                                          Index window) {
  const auto longest = config.longest_sequence();
  if (!longest || window > 0) return std::nullopt;
  return std::max(Index{0}, *longest - prompt_length + 1);
}

void check_feed(const ModelConfig& config, const SourceTokens* source,
                std::span<const Index> prompt, const FeedSettings& settings) {
  if (source != nullptr) {
    check_tokens(source->ids, config.source_vocab_size, "source");
    check_positions(config, source->ids, "source");
  }
  check_tokens(prompt, config.vocab_size, "prompt");
  if (settings.new_tokens < 0) {
    throw UsageError(fmt::format("--new-tokens must not be negative: got {}", settings.new_tokens));
  }
  check_window(config, settings.window);
  const auto length = static_cast<Index>(prompt.size());
  const auto rows = rows_needed(length, settings.new_tokens, settings.window);
  const auto longest = config.longest_sequence();
  if (longest && (!rows || *rows > *longest)) {
    throw UsageError(fmt::format("{}, a prompt of {} and {} new tokens need {}",
                                 config.longest_sequence_reason(), length, settings.new_tokens,
                                 rows.value_or(std::numeric_limits<Index>::max())));
  }
  if (!rows) {
    throw UsageError(
        fmt::format("a prompt of {} and {} new tokens are too many", length, settings.new_tokens));
  }
}

template <class T>
DecodeSession<T> begin_session(const Transformer<T>& model, const SourceTokens* source,
                               std::span<const Index> prompt, const FeedSettings& settings) {
  check_feed(model.config(), source, prompt, settings);
  SessionSettings session;
  session.capacity =
      static_cast<Index>(prompt.size()) + std::max(settings.new_tokens, Index{1}) - 1;
  session.use_cache = settings.use_cache;
  session.threads = settings.threads;
  session.window = settings.window;
  session.prefill_chunk = settings.prefill_chunk;
  session.layout = settings.layout;
  return source != nullptr ? DecodeSession<T>(model, *source, session)
                           : DecodeSession<T>(model, session);
}

template <class T>
std::vector<Generation> generate_samples(const Transformer<T>& model, const SourceTokens* source,
                                         std::span<const Index> prompt,
                                         const GenerationSettings& settings) {
  if (settings.samples < 1) {
    throw UsageError(fmt::format("--samples must be at least 1: got {}", settings.samples));
  }
  settings.sampling.validate();
  if (settings.new_tokens == 0) {
    check_feed(model.config(), source, prompt, settings);
    return std::vector<Generation>(static_cast<std::size_t>(settings.samples));
  }
  auto session = begin_session<T>(model, source, prompt, settings);
  return Samples<T>(session, settings).run(prompt);
}

template <class T>
Generation generate(const Transformer<T>& model, std::span<const Index> prompt,
                    const GenerationSettings& settings) {
  return std::move(generate_samples<T>(model, nullptr, prompt, settings).front());
}

template <class T>
Generation generate(const Transformer<T>& model, const SourceTokens& source,
                    std::span<const Index> prompt, const GenerationSettings& settings) {
  return std::move(generate_samples<T>(model, &source, prompt, settings).front());
}

#define ATTN_DECODING(T)                                                                           \
  template DecodeSession<T> begin_session<T>(const Transformer<T>&, const SourceTokens*,           \
                                             std::span<const Index>, const FeedSettings&);         \
  template std::vector<Generation> generate_samples<T>(const Transformer<T>&, const SourceTokens*, \
                                                       std::span<const Index>,                     \
                                                       const GenerationSettings&);                 \
  template Generation generate<T>(const Transformer<T>&, std::span<const Index>,                   \
                                  const GenerationSettings&);                                      \
  template Generation generate<T>(const Transformer<T>&, const SourceTokens&,                      \
                                  std::span<const Index>, const GenerationSettings&)
ATTN_DECODING(float);
ATTN_DECODING(double);
#undef ATTN_DECODING

}  // namespace attn
