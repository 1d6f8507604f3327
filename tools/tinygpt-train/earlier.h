#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "tinygpt-train/options.h"
#include "train/training_settings.h"

namespace attn {

/// The checkpoint of --resume or --init-from.
struct EarlierRun {
  std::string name;  // as messages call the file
  std::string history;
  Checkpoint checkpoint;
  ModelConfig config;         // of its model, also once that is moved away
  Index step = 0;             // updates done
  TrainingSettings settings;  // of its run, as far as the file has them

  /// The rate of its last update; without meaning where it has none.
  double last_rate() const { return settings.trainer.rates().rate(step - 1); }
};

/// Reads the checkpoint where one is asked for, and makes what it says the default of all options.
/// Throws DataError for a file that is no checkpoint or, to --resume, has no state of training;
/// UsageError for another task than the run's.
void read_earlier(cli::OptionTable& table, TrainOptions& options);

/// Throws UsageError that names both values where a resumed run would be another run, by its
/// settings or its model. Returns what is allowed to change and does.
std::vector<SettingChange> check_resumed(const EarlierRun& run, const TrainingSettings& now,
                                         const ModelConfig& config);

/// Throws UsageError that names both values where another arrangement was asked for: that is known
/// before the data are, which it could not learn.
void check_same_arch(const EarlierRun& run, const TrainOptions& options);

/// Throws UsageError that names both values where a model to begin with has another shape than
/// asked for. Key-value heads may be fewer (they are pooled), sequences of any length.
void check_begun_from(const EarlierRun& run, const ModelConfig& config);

}  // namespace attn
