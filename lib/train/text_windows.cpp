#include "train/text_windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/rng.h"
#include "core/text.h"

namespace attn {

TextWindows::TextWindows(std::vector<Index> tokens, Index vocab_size, const Settings& settings,
                         const std::string& name)
    : tokens_(std::move(tokens)), vocab_size_(vocab_size), settings_(settings) {
  if (settings_.seq_len < 1) {
    throw UsageError(fmt::format("--seq-len must be at least 1: got {}", settings_.seq_len));
  }
  if (!(settings_.held_out > 0) || settings_.held_out >= 1) {
    throw UsageError(
        fmt::format("the held-out share must be between 0 and 1: got {}", settings_.held_out));
  }
  const auto all = static_cast<Index>(tokens_.size());
  const auto held_out = static_cast<Index>(static_cast<double>(all) * settings_.held_out);
  training_ = all - held_out;
  const Index window = settings_.seq_len + 1;
  if (all < window) {
    throw DataError(fmt::format("{}: the text has {} tokens, a window of {} needs at least {}",
                                escaped(name), all, settings_.seq_len, window));
  }
  if (training_ < window || held_out < window) {
    throw DataError(
        fmt::format("{}: {} of the text's {} tokens are {}, a window of {} needs at least {}",
                    escaped(name), std::min(training_, held_out), all,
                    held_out < window ? "held out" : "for training", settings_.seq_len, window));
  }

  const Index available = (held_out - 1) / settings_.seq_len;
  const Index count = std::clamp<Index>(settings_.most_windows, 1, available);
  evaluation_.batch = count;
  evaluation_.seq_len = settings_.seq_len;
  evaluation_.ids.resize(static_cast<std::size_t>(count * settings_.seq_len));
  evaluation_.targets.resize(evaluation_.ids.size());
  for (Index row = 0; row < count; ++row) {
    put_window(evaluation_, row, training_ + row * available / count * settings_.seq_len);
  }
}

void TextWindows::put_window(Batch& batch, Index row, Index first) const {
  const auto from = tokens_.begin() + first;
  std::copy_n(from, batch.seq_len, batch.ids.begin() + row * batch.seq_len);
  std::copy_n(from + 1, batch.seq_len, batch.targets.begin() + row * batch.seq_len);
}

Batch TextWindows::training_batch(Index step, Index batch) const {
  Rng rng(settings_.seed, RandomPurpose::kTrainingData, static_cast<std::uint32_t>(step));
  Batch drawn;
  drawn.batch = batch;
  drawn.seq_len = settings_.seq_len;
  drawn.ids.resize(static_cast<std::size_t>(batch * settings_.seq_len));
  drawn.targets.resize(drawn.ids.size());
  for (Index row = 0; row < batch; ++row) {
    put_window(drawn, row, rng.below(training_ - settings_.seq_len));
  }
  return drawn;
}

double TextWindows::unigram_entropy() const {
  std::vector<double> seen(static_cast<std::size_t>(vocab_size_), 0.0);
  for (Index i = 0; i < training_; ++i) {
    seen[static_cast<std::size_t>(tokens_[static_cast<std::size_t>(i)])] += 1;
  }
  double total = 0;
  for (double& count : seen) {
    count = std::max(count, 1.0);
    total += count;
  }
  double nats = 0;
  for (std::size_t i = static_cast<std::size_t>(training_); i < tokens_.size(); ++i) {
    nats -= std::log(seen[static_cast<std::size_t>(tokens_[i])] / total);
  }
  return nats / static_cast<double>(held_out_tokens());
}

}  // namespace attn
