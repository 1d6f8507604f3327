#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/index.h"

namespace attn {

/// Sequences with what should be said at each token: what follows it for a decoder, what stood in
/// its place for an encoder. Shorter ones are padded on the right to the longest.
struct Batch {
  Index batch = 0;
  Index seq_len = 0;
  std::vector<Index> ids;                 // (batch, seq_len); padding is any id of the vocabulary
  std::vector<Index> targets;             // (batch, seq_len), kIgnoreIndex where no loss is taken
  std::vector<std::uint8_t> key_mask;     // (batch, seq_len), 0 for padding; empty: there is none
  Index source_len = 0;                   // encoder-decoder only, as the next two
  std::vector<Index> source;              // (batch, source_len)
  std::vector<std::uint8_t> source_mask;  // (batch, source_len), 0 for padding; empty: none
  std::vector<std::uint8_t> judged;  // (batch, seq_len), 1 where accuracy looks; empty: wherever a
                                     // loss is taken
};

/// What a model is trained on. Batches depend on the seed and the step alone, so that threads,
/// chunks and resuming cannot change them. One batch is shared by all arrangements of accumulation.
class DataSource {
 public:
  virtual ~DataSource() = default;

  virtual Index vocab_size() const = 0;
  /// Of what an encoder-decoder reads; 0 otherwise.
  virtual Index source_vocab_size() const { return 0; }
  /// Tokens of the longest sequence, and of the longest source (0: there is none).
  virtual Index seq_len() const = 0;
  virtual Index source_len() const { return 0; }
  /// The batch of update number `step`, counted from 0.
  virtual Batch training_batch(Index step, Index batch) const = 0;
  /// The fixed sequences that evaluation runs over.
  virtual const Batch& evaluation_batch() const = 0;
  /// Fixed sequences of the training part, to hold against those held out; null where the data are
  /// drawn anew for ever.
  virtual const Batch* training_sample() const { return nullptr; }
  /// The least mean loss over the evaluation's sequences, in nats, because some tokens cannot be
  /// known; nothing where it is not known.
  virtual std::optional<double> loss_floor() const { return std::nullopt; }
  /// No model can go below the floor, not even by luck: evaluation runs over all there is.
  virtual bool floor_is_exact() const { return false; }
};

}  // namespace attn
