#pragma once

#include <optional>
#include <vector>

#include "model/training_state.h"
#include "train/batch_gradient.h"
#include "train/fault.h"
#include "train/trainer_settings.h"

namespace attn {

/// What one update did.
struct StepReport {
  Index step = 0;            // updates done, this one included
  double loss = 0;           // over the update's own batch, before it; with the labels smoothed
  double gradient_norm = 0;  // of all gradients together, before clipping
  double lr = 0;
  /// What was not finite. Then nothing was updated, and the parameters are those before.
  std::optional<Fault> fault;

  bool finite() const { return !fault; }
};

/// Trains a model by AdamW on batches of a data source. One update: the gradient of the mean loss
/// over batch * accumulate sequences, clipped to a global norm (Pascanu et al. 2013,
/// arXiv:1211.5063: all times min(1, clip / (norm + 1e-6))), then AdamW at the schedule's rate.
template <class T>
class Trainer {
 public:
  /// state: what an earlier run left, or an empty one. Throws UsageError for settings out of range
  /// and a data source that does not fit the model, ShapeError for a state that does not.
  Trainer(Transformer<T>& model, const DataSource& data, const TrainerSettings& settings,
          TrainingState<T> state = {});

  /// One update with the batch of state().step.
  StepReport step();

  /// Over the data's fixed sequences, and its training sample where it has one; noted in the state.
  Evaluation evaluate();

  /// What keeps model and state from being a checkpoint: a last evaluation, a parameter or a moment
  /// that is not finite. The update after a finite gradient may be the one that goes too far.
  std::optional<Fault> fault() const;

  const TrainerSettings& settings() const { return settings_; }
  const Transformer<T>& model() const { return model_; }
  TrainingState<T>& state() { return state_; }
  const TrainingState<T>& state() const { return state_; }

 private:
  Fault name_fault(double loss) const;
  void log_gradients();
  void update(double lr, double factor);

  Transformer<T>& model_;
  const DataSource& data_;
  TrainerSettings settings_;
  TrainingState<T> state_;
  BatchGradient<T> gradient_;
  std::vector<T> gradients_;
  std::vector<DecayRun> runs_;
};

}  // namespace attn
