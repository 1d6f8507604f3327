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
  double accuracy = 0;  // share of judged targets that have the largest logit
  double exact = 0;     // share of sequences, of those with a judged target, that are right in all
  Index counted = 0;    // targets in the loss
};

/// What training adds to the plain loss.
struct GradientOptions {
  DropoutStream dropout;  // of the update; rate 0: none. first_sequence is the batch's first
  double label_smoothing = 0;
};

/// The gradient of a batch's mean loss: a map over fixed chunks (chunk_sequences), each forward and
/// backward in one worker's own memory, and a reduction in the order of the chunks. The same bits
/// for every number of threads. A decoder's tokens after the last target are left out. After a
/// worker's first chunk it allocates nothing. Throws ShapeError for a batch whose parts do not fit
/// each other or the model.
template <class T>
class BatchGradient {
 public:
  BatchGradient(const Transformer<T>& model, int threads);
  ~BatchGradient();

  /// The mean loss of the batch; sets gradients (params().size()) to its gradient.
  double compute(const Batch& batch, T* gradients, const GradientOptions& options = {});

  /// Loss and accuracy alone, without dropout and smoothing. `exact` is teacher-forced: each guess
  /// reads the true tokens before it, and a sequence is right only if every judged token is. Greedy
  /// decoding gets just those right too: until its first mistake it reads the same tokens.
  Evaluation evaluate(const Batch& batch);

 private:
  struct Worker;

  const Transformer<T>& model_;
  int threads_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Batch shorter_;  // what of a batch has a part in the loss
};

}  // namespace attn
