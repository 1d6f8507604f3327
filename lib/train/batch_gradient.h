#pragma once

#include <memory>
#include <vector>

#include "model/transformer.h"
#include "ops/cross_entropy.h"
#include "train/data_source.h"

namespace attn {

/// Loss and accuracy over a batch.
struct Evaluation {
  double loss = 0;      // mean nats over the counted targets
  double accuracy = 0;  // share of targets that have the largest logit
  Index counted = 0;    // targets in the loss
};

/// The gradient of a batch's mean loss: a map over fixed chunks (chunk_sequences), each forward and
/// backward in one worker's own memory, and a reduction in the order of the chunks. The same bits
/// for every number of threads. After a worker's first chunk it allocates nothing.
template <class T>
class BatchGradient {
 public:
  BatchGradient(const Transformer<T>& model, int threads);
  ~BatchGradient();

  /// The mean loss of the batch; sets gradients (params().size()) to its gradient.
  double compute(const Batch& batch, T* gradients);

  /// Loss and accuracy alone.
  Evaluation evaluate(const Batch& batch);

 private:
  struct Worker;

  const Transformer<T>& model_;
  int threads_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace attn
