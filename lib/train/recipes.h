#pragma once

#include <string>
#include <string_view>

#include "train/training_settings.h"

namespace attn {

/// How a model of model/presets.h is trained by those it comes from.
struct Recipe {
  std::string preset;         // the model's name
  TrainingSettings settings;  // task and data left open; eval_every 0: a tenth of the steps
  std::string tokenizer = "characters";  // of a text
};

/// Throws UsageError for a name that no preset has (see model_preset).
Recipe recipe(std::string_view preset);

}  // namespace attn
