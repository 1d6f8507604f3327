#pragma once

#include <optional>

#include "train/trainer.h"

namespace attn {

/// When a run looks, saves and ends. How many updates it has in all is the trainer's.
struct RunSettings {
  Index eval_every = 1;  // updates between evaluations; one before the first, one after the last
  Index patience = 0;    // evaluations in a row without a new least loss that end it; 0: never
  Index save_every = 0;  // updates between saves; 0: only at the end
  std::optional<Index> stop_after;  // end as if asked to, once so many updates are done in all
};

/// Why a run ended.
enum class RunOutcome {
  kFinished,      // all updates are done
  kEarlyStopped,  // no better for `patience` evaluations
  kStopped,       // asked to: there is more to do
  kDiverged,      // a number was not finite: nothing was saved since
};

struct RunEnd {
  RunOutcome outcome = RunOutcome::kFinished;
  StepReport last;             // of this call's last update; of none, step is the state's
  std::optional<Fault> fault;  // why it diverged
};

/// Who watches a run, saves what it asks to be saved, and may end it. Nothing is done unless
/// overridden.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  virtual void on_step(const StepReport& /*report*/) {}
  /// `best`: its loss is the least so far.
  virtual void on_evaluation(const EvaluationPoint& /*point*/, bool /*best*/) {}
  /// Before the first update, where the loss is far from the `uniform` one: far_from_uniform().
  virtual void on_unusual_start(double /*loss*/, double /*uniform*/) {}
  /// Model and state are worth keeping: after every save_every updates, and at every end but
  /// divergence, each time once.
  virtual void save() {}
  /// The evaluation just made is the best so far (the first one too).
  virtual void save_best() {}
  /// Asked after every update, and before the first.
  virtual bool stop_requested() { return false; }
};

/// Trains until an end: evaluates before the first update, after every eval_every and after the
/// last. Only the state says where a run stands, and every decision follows from it, so a run that
/// stopped and goes on from its saved state makes the same updates, evaluations and saves as one
/// that did not stop. Throws UsageError for settings out of range, and for fewer steps than are
/// done.
template <class T>
RunEnd run_training(Trainer<T>& trainer, const RunSettings& settings, RunObserver& observer);

/// Is a loss before the first update more than half a nat from ln(vocab_size), that of knowing
/// nothing? Usual beginnings are within 0.2; far above, the logits are too large to begin with, and
/// far below, the model sees what it should predict.
bool far_from_uniform(double loss, Index vocab_size);

}  // namespace attn
