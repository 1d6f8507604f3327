#pragma once

#include "tinygpt-train/options.h"

namespace attn {

/// Refuses, by name, options that contradict each other and options to which nothing listens.
/// Throws UsageError.
void check_training_options(const cli::OptionTable& table, const TrainOptions& options);

}  // namespace attn
