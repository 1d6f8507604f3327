#pragma once

#include <memory>
#include <span>

#include "core/rng.h"
#include "model/model_config.h"
#include "train/data_source.h"

namespace attn {

/// What is read and what should be said then. Neither is empty.
struct Pair {
  std::vector<Index> source, target;

  bool operator==(const Pair&) const = default;
};

/// Where pairs come from.
class PairMaker {
 public:
  virtual ~PairMaker() = default;

  virtual Pair training_pair(Rng& rng) const = 0;
  /// The fixed pairs that evaluation runs over, whatever the seed.
  virtual std::vector<Pair> evaluation_pairs() const = 0;
  /// Fixed pairs of the training part; none where pairs are drawn anew for ever.
  virtual std::vector<Pair> training_sample() const { return {}; }
  virtual Index longest_source() const = 0;
  virtual Index longest_target() const = 0;
};

/// How pairs become sequences. In two stacks the encoder reads the source, and the decoder reads
/// BOS t1 t2 ... and should say t1 t2 ... EOS. In one stack both are one sequence, as in minGPT's
/// demo: source SEPARATOR target EOS, and a loss is taken on what follows the separator.
struct PairLayout {
  Arch arch = Arch::kEncoderDecoder;  // or kDecoder
  Index vocab_size = 0;               // of both sides
  Index bos = 0;                      // of two stacks
  Index eos = 1;
  Index pad = 1;
  Index separator = 0;  // of one stack
};

Batch arrange_pairs(std::span<const Pair> pairs, const PairLayout& layout);

/// Pairs as batches. Each batch is padded to its own longest.
class PairData : public DataSource {
 public:
  PairData(std::unique_ptr<const PairMaker> maker, const PairLayout& layout, std::uint64_t seed);

  Index vocab_size() const override { return layout_.vocab_size; }
  Index source_vocab_size() const override;
  Index seq_len() const override;
  Index source_len() const override;
  Batch training_batch(Index step, Index batch) const override;
  const Batch& evaluation_batch() const override { return evaluation_; }
  const Batch* training_sample() const override { return sample_.batch > 0 ? &sample_ : nullptr; }
  /// Stated by whoever knows the mapping: 0 where the source determines the target.
  std::optional<double> loss_floor() const override { return floor_; }
  void set_loss_floor(double floor) { floor_ = floor; }

 private:
  std::unique_ptr<const PairMaker> maker_;
  PairLayout layout_;
  std::uint64_t seed_;
  Batch evaluation_;
  Batch sample_;
  std::optional<double> floor_;
};

}  // namespace attn
