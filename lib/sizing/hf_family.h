#pragma once

#include <string_view>

#include "sizing/cache_spec.h"
#include "sizing/config_reader.h"

namespace attn {

/// How one family of models (a model_type of Hugging Face configurations) says what it caches.
struct HfFamily {
  std::string_view model_type;
  /// Without a number of key-value heads every head has its own. Where this is false the class
  /// has another default, and a configuration that says nothing is refused.
  bool one_kv_head_each = true;
  /// Features of a head are stated; width / heads would be wrong where they are missing.
  bool states_head_dim = false;
  CacheSpec (*resolve)(ConfigReader& config, const HfFamily& family) = nullptr;
};

/// The family of a model_type, or null if it is not known. An empty model_type is the plain one.
const HfFamily* hf_family(std::string_view model_type);

/// Sizes that all layers share, under their usual names.
struct HfSizes {
  Index layers = 0;
  Index heads = 0;
  Index kv_heads = 0;
  Index head_dim = 0;
};
HfSizes read_hf_sizes(ConfigReader& config, const HfFamily& family);

}  // namespace attn
