#pragma once

#include "cli/common_options.h"
#include "cli/session.h"
#include "model/model_config.h"
#include "train/trainer_settings.h"

namespace attn {

/// What training would take, for --dry-run: parameters by part, how many of them decay, FLOPs,
/// memory.
void report_sizes(const ModelConfig& config, const TrainerSettings& settings, Index source_len,
                  cli::Format format, cli::Report& report);

}  // namespace attn
