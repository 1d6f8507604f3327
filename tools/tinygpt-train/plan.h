#pragma once

#include <vector>

#include "cli/session.h"
#include "model/model_config.h"
#include "tinygpt-train/options.h"
#include "train/task.h"
#include "train/training_settings.h"

namespace attn {

/// What a run will do: options, task defaults and an earlier run put together.
struct TrainingPlan {
  Task task;
  ModelConfig config;
  TrainingSettings settings;
  std::vector<SettingChange> changes;  // what a resumed run has otherwise than before
};

/// Throws UsageError for options that nothing listens to or that make no model, and for an earlier
/// run that does not fit.
TrainingPlan make_plan(const TrainOptions& options, const cli::Session& session);

/// Does --dry-run know its vocabulary without any data?
bool counts_without_data(const TrainOptions& options, const cli::Session& session);
/// The model it then counts.
ModelConfig config_without_data(const TrainOptions& options);

}  // namespace attn
