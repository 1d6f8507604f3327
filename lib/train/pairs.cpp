#include "train/pairs.h"

#include "ops/cross_entropy.h"
#include "train/padded_batch.h"

namespace attn {
namespace {

// Each token with the one that follows it; no loss on the first `unjudged` targets.
BatchRow next_tokens(const std::vector<Index>& tokens, std::size_t unjudged) {
  BatchRow row;
  row.ids.assign(tokens.begin(), tokens.end() - 1);
  row.targets.assign(tokens.begin() + 1, tokens.end());
  std::fill_n(row.targets.begin(), unjudged, kIgnoreIndex);
  return row;
}

BatchRow in_two_stacks(const Pair& pair, const PairLayout& layout) {
  std::vector<Index> said{layout.bos};
  said.insert(said.end(), pair.target.begin(), pair.target.end());
  said.push_back(layout.eos);
  BatchRow row = next_tokens(said, 0);
  row.source = pair.source;
  return row;
}

BatchRow in_one_stack(const Pair& pair, const PairLayout& layout) {
  std::vector<Index> tokens = pair.source;
  tokens.push_back(layout.separator);
  tokens.insert(tokens.end(), pair.target.begin(), pair.target.end());
  tokens.push_back(layout.eos);
  return next_tokens(tokens, pair.source.size());
}

}  // namespace

Batch arrange_pairs(std::span<const Pair> pairs, const PairLayout& layout) {
  std::vector<BatchRow> rows;
  rows.reserve(pairs.size());
  for (const Pair& pair : pairs) {
    rows.push_back(layout.arch == Arch::kEncoderDecoder ? in_two_stacks(pair, layout)
                                                        : in_one_stack(pair, layout));
  }
  return padded_batch(rows, layout.pad);
}

PairData::PairData(std::unique_ptr<const PairMaker> maker, const PairLayout& layout,
                   std::uint64_t seed)
    : maker_(std::move(maker)), layout_(layout), seed_(seed) {
  evaluation_ = arrange_pairs(maker_->evaluation_pairs(), layout_);
  const std::vector<Pair> sample = maker_->training_sample();
  if (!sample.empty()) sample_ = arrange_pairs(sample, layout_);
}

Index PairData::source_vocab_size() const {
  return layout_.arch == Arch::kEncoderDecoder ? layout_.vocab_size : 0;
}

Index PairData::seq_len() const {
  // One token more, at which the end is said; in one stack the source and the separator before.
  const Index target = maker_->longest_target() + 1;
  return layout_.arch == Arch::kEncoderDecoder ? target : maker_->longest_source() + target;
}

Index PairData::source_len() const {
  return layout_.arch == Arch::kEncoderDecoder ? maker_->longest_source() : 0;
}

Batch PairData::training_batch(Index step, Index batch) const {
  Rng rng(seed_, RandomPurpose::kTrainingData, static_cast<std::uint32_t>(step));
  std::vector<Pair> pairs;
  pairs.reserve(static_cast<std::size_t>(batch));
  for (Index row = 0; row < batch; ++row) pairs.push_back(maker_->training_pair(rng));
  return arrange_pairs(pairs, layout_);
}

}  // namespace attn
