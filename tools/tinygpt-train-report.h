#pragma once

#include "cli/common_options.h"
#include "cli/session.h"
#include "train/task.h"
#include "train/trainer.h"

namespace attn {

/// How training ended.
struct Outcome {
  bool diverged = false;
  StepReport last;
};

/// What training would take, for --dry-run: parameters by part, FLOPs, memory.
void report_sizes(const ModelConfig& config, Index batch, int threads, cli::Format format,
                  cli::Report& report);

/// What came of it: the evaluations, and the last one beside the task's yardstick. As text nothing
/// where training diverged. `show` draws the losses below the text.
void report_training(const Task& task, const ModelConfig& config, const TrainingState<float>& state,
                     const Outcome& outcome, cli::Format format, bool show, cli::Session& session);

}  // namespace attn
