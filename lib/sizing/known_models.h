#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sizing/cache_spec.h"

namespace attn {

/// A model whose shape the programs know: the files of data/models, built in.
struct KnownModel {
  std::string name;    ///< "llama-3.1-8b"
  std::string source;  ///< where the facts come from
  CacheSpec spec;
};

/// All of them, in order of name.
std::vector<KnownModel> known_models();

/// The one of that name, whatever its case. Throws UsageError with the nearest name.
KnownModel known_model(std::string_view name);

}  // namespace attn
