#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/training_state.h"
#include "train/trainer_settings.h"

namespace attn {

/// What a run whose key-value heads were pooled has to compare: held-out losses. (That of the
/// pooled model before any update is the run's first evaluation.)
struct PooledLosses {
  double before = 0;            // of the model whose heads were pooled
  Index later_step = 0;         // uptraining_updates() of the earlier run; 0: it was none
  std::optional<double> later;  // after so many updates

  bool operator==(const PooledLosses&) const = default;
};

/// 5 % of an earlier run's updates, rounded up: how long a model of pooled heads is trained on
/// (Ainslie et al. 2023, arXiv:2305.13245, section 3.2).
Index uptraining_updates(Index earlier);

/// Everything that says what a run is and that its checkpoint remembers, as attributes of
/// /training. (Threads, and how often and where to save, are not of that kind.)
struct TrainingSettings {
  std::string task;              // "progressions", "text", "copy" ...
  std::string data_digest;       // of what was read; empty where the seed alone makes the data
  SettingList task_settings;     // the task's own, under its own names
  TrainerSettings trainer;       // all but threads
  std::string init = "pytorch";  // how parameters began
  Index eval_every = 1;          // updates between evaluations
  Index patience = 0;  // evaluations without improvement that end the run; 0: however many
  std::optional<PooledLosses> pooled;  // found, not set: no part of changes()
};

/// As attributes: those of the table under their names, then the task's own, then what pooling
/// cost (pooled_loss_before, pooled_later_step, pooled_loss_later).
SettingList to_list(const TrainingSettings& settings);

/// Back. What is not in the list keeps its default; a name that the table does not know is the
/// task's own. Throws DataError ("FILE: /training: attribute batch: ...") for a value of the wrong
/// kind or out of range.
TrainingSettings from_list(const SettingList& list, const std::string& file);

/// One setting that a resumed run has otherwise than its checkpoint.
struct SettingChange {
  std::string name;      // as in the file: "batch"
  std::string was, now;  // as text; empty: not there
  /// Such as steps or the rate: the run goes on under the new one. Otherwise it would be another
  /// run: another task, seed or data.
  bool allowed = false;

  /// "--batch was 32, now 64".
  std::string text() const;
};

/// Everything that differs, in the order of the table.
std::vector<SettingChange> changes(const TrainingSettings& was, const TrainingSettings& now);

}  // namespace attn
