#include "train/text_windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "train/unigram.h"

namespace attn {

TextWindows::TextWindows(std::vector<Index> tokens, Index vocab_size, const Settings& settings,
                         const std::string& name)
    : TextWindows(std::make_shared<TokenList>(std::move(tokens), vocab_size), settings, name) {}

TextWindows::TextWindows(std::shared_ptr<const TokenStream> tokens, const Settings& settings,
                         const std::string& name)
    : tokens_(std::move(tokens)), settings_(settings) {
  if (settings_.seq_len < 1) {
    throw UsageError(fmt::format("--seq-len must be at least 1: got {}", settings_.seq_len));
  }
  if (!(settings_.held_out > 0) || settings_.held_out >= 1) {
    throw UsageError(
        fmt::format("the held-out share must be between 0 and 1: got {}", settings_.held_out));
  }
  const Index all = tokens_->size();
  const auto held_out = static_cast<Index>(static_cast<double>(all) * settings_.held_out);
  training_ = all - held_out;
  if (all < window()) {
    throw DataError(fmt::format("{}: the text has {} tokens, a window of {} needs at least {}",
                                escaped(name), all, settings_.seq_len, window()));
  }
  if (training_ < window() || held_out < window()) {
    throw DataError(fmt::format(
        "{}: {} of the text's {} tokens are {}, a window of {} needs at least {}", escaped(name),
        std::min(training_, held_out), all, held_out < window() ? "held out" : "for training",
        settings_.seq_len, window()));
  }
  evaluation_ = spread(training_, held_out, settings_.most_windows);
  // As many windows of the training part, so that the two losses are equally exact; of a whole
  // held-out part not as many.
  constexpr Index kMostSampled = 256;
  sample_ = spread(0, training_, std::min(evaluation_.batch, kMostSampled));
}

Index TextWindows::vocab_size() const {
  const auto ids = static_cast<Index>(tokens_->counts().size());
  return settings_.masking ? std::max(ids, settings_.masking->mask + 1) : ids;
}

// Tokens that a window takes from the text.
Index TextWindows::window() const {
  return settings_.masking ? settings_.seq_len : settings_.seq_len + 1;
}

Batch TextWindows::empty_batch(Index batch) const {
  Batch empty;
  empty.batch = batch;
  empty.seq_len = settings_.seq_len;
  empty.ids.resize(static_cast<std::size_t>(batch * settings_.seq_len));
  empty.targets.resize(empty.ids.size());
  return empty;
}

void TextWindows::put_window(Batch& batch, Index row, Index first, Rng& rng) const {
  const auto length = static_cast<std::size_t>(batch.seq_len);
  const std::span<Index> ids(batch.ids.data() + row * batch.seq_len, length);
  const std::span<Index> targets(batch.targets.data() + row * batch.seq_len, length);
  tokens_->read(first, ids);
  if (settings_.masking) {
    settings_.masking->hide(ids, targets, rng);
    return;
  }
  std::copy(ids.begin() + 1, ids.end(), targets.begin());
  tokens_->read(first + batch.seq_len, targets.last(1));
}

// At most `most` windows, spread evenly over `tokens` tokens from `first` on.
Batch TextWindows::spread(Index first, Index tokens, Index most) const {
  const Index available = (tokens - (window() - settings_.seq_len)) / settings_.seq_len;
  const Index count = most == 0 ? available : std::clamp<Index>(most, 1, available);
  Batch batch = empty_batch(count);
  // A fixed stream and not the seed's, so that runs with other seeds compare.
  Rng rng(0, RandomPurpose::kEvaluationData);
  for (Index row = 0; row < count; ++row) {
    put_window(batch, row, first + row * available / count * settings_.seq_len, rng);
  }
  return batch;
}

Batch TextWindows::training_batch(Index step, Index batch) const {
  Rng rng(settings_.seed, RandomPurpose::kTrainingData, static_cast<std::uint32_t>(step));
  Batch drawn = empty_batch(batch);
  for (Index row = 0; row < batch; ++row) {
    put_window(drawn, row, random_place(rng, training_ - window() + 1), rng);
  }
  return drawn;
}

double TextWindows::unigram_entropy() const {
  const std::vector<Index> held_out = counts_from(*tokens_, training_);
  std::vector<Index> seen = tokens_->counts();
  for (std::size_t id = 0; id < seen.size(); ++id) seen[id] -= held_out[id];
  return unigram_cross_entropy(seen, held_out);
}

}  // namespace attn
