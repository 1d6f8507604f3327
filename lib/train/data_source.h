#pragma once

#include <vector>

#include "core/index.h"

namespace attn {

/// Sequences of equal length with what should follow each token.
struct Batch {
  Index batch = 0;
  Index seq_len = 0;
  std::vector<Index> ids;      // (batch, seq_len)
  std::vector<Index> targets;  // (batch, seq_len), kIgnoreIndex where no loss is taken
  Index accuracy_from = 0;     // accuracy counts targets from this column on
};

/// What a model is trained on. Batches depend on the seed and the step alone, so that threads,
/// chunks and resuming cannot change them. One batch is shared by all arrangements of accumulation.
class DataSource {
 public:
  virtual ~DataSource() = default;

  virtual Index vocab_size() const = 0;
  virtual Index seq_len() const = 0;
  /// The batch of update number `step`, counted from 0.
  virtual Batch training_batch(Index step, Index batch) const = 0;
  /// The fixed sequences that evaluation runs over.
  virtual const Batch& evaluation_batch() const = 0;
  /// The least mean loss that is possible, in nats; 0 where it is not known.
  virtual double loss_floor() const { return 0; }
};

}  // namespace attn
