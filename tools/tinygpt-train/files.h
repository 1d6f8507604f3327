#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "tinygpt-train/options.h"
#include "tinygpt-train/plan.h"
#include "train/trainer.h"

namespace attn {

/// Where a run's checkpoints go. While it lasts, --checkpoint or else --output is replaced whole
/// each time; what is only complete at the end (stdout, or --output beside --checkpoint) waits for
/// it.
class TrainingFiles {
 public:
  /// Throws UsageError and DataError for what could not be written later.
  explicit TrainingFiles(const TrainOptions& options);

  /// The history all files get: this run's, or that of the run it goes on with, and one line more
  /// where that run is changed.
  void set_history(const cli::Session& session, const std::vector<SettingChange>& changes);

  void save(const Trainer<float>& trainer, const Task& task);
  void save_best(const Trainer<float>& trainer, const Task& task) const;
  /// What waited for the end.
  void finish(const Trainer<float>& trainer, const Task& task);

  /// "model.h5 holds step 120", "nothing was written".
  std::string holdings() const;
  bool hold_something() const { return saved_.has_value(); }
  /// The file that can be resumed; empty where there is none.
  const std::string& resumable() const { return working_; }

 private:
  void write(const std::string& file, const Trainer<float>& trainer, const Task& task) const;

  const TrainOptions& options_;
  std::string working_;  // replaced while the run lasts; empty: none
  std::string earlier_history_;
  std::string command_;
  std::optional<Index> saved_;  // the step that `working_` holds, or else stdout
};

}  // namespace attn
