#pragma once

#include <vector>

#include "model/training_state.h"
#include "ops/adamw.h"
#include "train/batch_gradient.h"

namespace attn {

struct TrainerSettings {
  AdamWSettings adamw;  // PyTorch's defaults; the tutorial's rate is 3e-3
  Index batch = 128;    // sequences of one update
  int threads = 1;
};

/// What one update did.
struct StepReport {
  Index step = 0;  // updates done, this one included
  double loss = 0;
  double gradient_norm = 0;  // of all gradients together
  double lr = 0;
  /// Loss and gradients were finite. Otherwise nothing was updated and the last good parameters
  /// stand.
  bool finite = true;
};

/// Trains a model by AdamW on batches of a data source.
template <class T>
class Trainer {
 public:
  /// state: what an earlier run left, or an empty one. Throws UsageError for settings out of range
  /// and a data source that does not fit the model, ShapeError for a state that does not.
  Trainer(Transformer<T>& model, const DataSource& data, const TrainerSettings& settings,
          TrainingState<T> state = {});

  /// One update with the batch of state().step.
  StepReport step();

  /// Over the data's fixed sequences; noted in the state.
  Evaluation evaluate();
  /// The last evaluation's loss and all parameters are finite: what a checkpoint must hold.
  bool sound() const;

  TrainingState<T>& state() { return state_; }
  const TrainingState<T>& state() const { return state_; }

 private:
  Transformer<T>& model_;
  const DataSource& data_;
  TrainerSettings settings_;
  TrainingState<T> state_;
  BatchGradient<T> gradient_;
  std::vector<T> gradients_;
};

}  // namespace attn
