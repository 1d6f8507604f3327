#pragma once

#include "model/model_config.h"
#include "model/training_state.h"

namespace attn {

/// A completed configuration as a checkpoint's root attributes, in order, under the fields' names:
/// numbers, flags as 0 and 1, words. For the file, and to compare two.
SettingList model_attributes(const ModelConfig& config);

}  // namespace attn
