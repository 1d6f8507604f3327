#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model_config.h"

namespace attn {

/// A known model's shape, with the vocabulary and the sequences it was trained on, so that it can
/// be counted without any data. Not completed(): what follows from the rest is left to follow.
struct ModelPreset {
  std::string name;   // as --preset has it: "nanogpt-cpu"
  std::string about;  // one line for people, with the source
  ModelConfig config;
};

/// In the order that help and messages list them.
const std::vector<ModelPreset>& model_presets();

/// Throws UsageError for a name that none has, with the nearest one as a hint and as what `option`
/// was given; '-' and '_' are the same in it.
const ModelPreset& model_preset(std::string_view name, std::string_view option = "--preset");

}  // namespace attn
