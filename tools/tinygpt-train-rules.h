#pragma once

#include "cli/session.h"
#include "tinygpt-train-options.h"

namespace attn {

/// Refuses, by name, options that contradict each other and options to which nothing listens.
/// Throws UsageError.
void check_training_options(const cli::OptionTable& table, const TrainOptions& options);

/// The same for those that depend on which task it is.
void refuse_idle_task_options(const cli::Session& session, const Task& task);

}  // namespace attn
