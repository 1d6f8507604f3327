#include "train/documents.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/rng.h"
#include "core/text.h"
#include "train/unigram.h"

namespace attn {

HeldOut hold_out(Index count, double share, const std::string& what) {
  if (!(share > 0) || share >= 1) {
    throw UsageError(fmt::format("the held-out share must be between 0 and 1: got {}", share));
  }
  if (count < 2) {
    throw DataError(
        fmt::format("{}: {} came, at least 2 are needed: one to hold out", what, count));
  }
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  // Fisher and Yates, by a fixed stream and not the seed's, so that runs with other seeds compare.
  Rng rng(0, RandomPurpose::kEvaluationData);
  for (Index i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(rng.below(i + 1))]);
  }
  const auto wanted = static_cast<Index>(std::lround(static_cast<double>(count) * share));
  const Index held = std::clamp<Index>(wanted, 1, count - 1);
  return {{order.begin() + held, order.end()}, {order.begin(), order.begin() + held}};
}

DocumentData::DocumentData(std::shared_ptr<const Documents> documents, const Settings& settings,
                           const std::string& name)
    : documents_(std::move(documents)),
      settings_(settings),
      split_(hold_out(documents_->size(), settings.held_out, name)) {
  for (Index document = 0; document < documents_->size(); ++document) {
    const auto tokens = static_cast<Index>(documents_->tokens(document).size());
    const Index length = tokens + (settings_.bos ? 1 : 0) + (settings_.eos ? 1 : 0) - 1;
    if (length < 1) {
      throw DataError(fmt::format("{}: {} tokens leave nothing to predict",
                                  documents_->where(document), tokens));
    }
    if (settings_.seq_len && length > *settings_.seq_len) {
      throw DataError(fmt::format("{}: its {} tokens need --seq-len {}, more than {}",
                                  documents_->where(document), tokens, length, *settings_.seq_len),
                      {"without --seq-len, the longest sets it"});
    }
    seq_len_ = std::max(seq_len_, length);
  }
  evaluation_ = rows_of(split_.held_out, settings_.most_documents);
  constexpr Index kMostSampled = 256;
  sample_ = rows_of(split_.training, std::min(evaluation_.batch, kMostSampled));
  if (settings_.seq_len) seq_len_ = *settings_.seq_len;
}

BatchRow DocumentData::row_of(Index document) const {
  std::vector<Index> tokens = documents_->tokens(document);
  if (settings_.bos) tokens.insert(tokens.begin(), *settings_.bos);
  if (settings_.eos) tokens.push_back(*settings_.eos);
  BatchRow row;
  row.ids.assign(tokens.begin(), tokens.end() - 1);
  row.targets.assign(tokens.begin() + 1, tokens.end());
  return row;
}

Batch DocumentData::rows_of(const std::vector<Index>& documents, Index most) const {
  const auto all = static_cast<Index>(documents.size());
  const Index count = most == 0 ? all : std::min(most, all);
  std::vector<BatchRow> rows;
  for (Index i = 0; i < count; ++i) rows.push_back(row_of(documents[static_cast<std::size_t>(i)]));
  return padded_batch(rows, settings_.pad);
}

Batch DocumentData::training_batch(Index step, Index batch) const {
  Rng rng(settings_.seed, RandomPurpose::kTrainingData, static_cast<std::uint32_t>(step));
  std::vector<BatchRow> rows;
  for (Index row = 0; row < batch; ++row) {
    rows.push_back(
        row_of(split_.training[static_cast<std::size_t>(rng.below(training_documents()))]));
  }
  return padded_batch(rows, settings_.pad);
}

std::vector<Index> DocumentData::target_counts(const std::vector<Index>& documents) const {
  std::vector<Index> counts(static_cast<std::size_t>(settings_.vocab_size), 0);
  for (const Index document : documents) {
    for (const Index target : row_of(document).targets) ++counts[static_cast<std::size_t>(target)];
  }
  return counts;
}

double DocumentData::unigram_entropy() const {
  return unigram_cross_entropy(target_counts(split_.training), target_counts(split_.held_out));
}

}  // namespace attn
