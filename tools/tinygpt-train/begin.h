#pragma once

#include <memory>

#include "cli/session.h"
#include "model/transformer.h"
#include "tinygpt-train/plan.h"

namespace attn {

/// The model that a run begins with: drawn from the seed, an earlier run's as it was left, or an
/// earlier one's to be trained on, its key-value heads pooled where fewer are wanted (then the
/// plan gets the losses of that).
std::unique_ptr<Transformer<float>> begin_model(const TrainOptions& options, TrainingPlan& plan);

/// The state that belongs to it: empty, or that of the resumed run, under the plan's settings.
TrainingState<float> begin_state(const TrainOptions& options, const TrainingPlan& plan);

}  // namespace attn
