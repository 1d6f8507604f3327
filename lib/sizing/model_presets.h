#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sizing/cache_spec.h"

namespace attn {

/// A model whose shape the programs know: the files of data/models, built in.
struct ModelPreset {
  std::string name;    ///< "llama-3.1-8b"
  std::string source;  ///< where the facts come from
  CacheSpec spec;
};

/// All of them, in order of name.
std::vector<ModelPreset> model_presets();

/// The one of that name, whatever its case. Throws UsageError with the nearest name.
ModelPreset model_preset(std::string_view name);

}  // namespace attn
