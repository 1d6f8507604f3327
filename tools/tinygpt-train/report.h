#pragma once

#include "cli/common_options.h"
#include "cli/session.h"
#include "tinygpt-train/plan.h"
#include "tinygpt-train/watch.h"
#include "train/training_run.h"

namespace attn {

/// What a report is about.
struct TrainingResult {
  const TrainingPlan& plan;
  const Trainer<float>& trainer;
  const RunEnd& end;
};

/// Before the first update: what is learnt, how many parameters there are and how many decay, and
/// the number the loss is to be held against.
void note_beginning(const TrainingPlan& plan, const Transformer<float>& model,
                    const cli::Session& session);

/// What came of it: the evaluations, and the last one beside the task's yardstick. As text nothing
/// where training diverged. `show` draws the losses below the text.
void report_training(const TrainingResult& result, cli::Format format, bool show,
                     cli::Session& session);

}  // namespace attn
