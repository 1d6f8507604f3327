#pragma once

#include <string>
#include <string_view>

#include "sizing/cache_spec.h"

namespace attn {

/// What a model caches, from the header of its GGUF file: `bytes` are the start of the file, at
/// least its metadata. Layers that predict further tokens (nextn) are left out. The windows of each
/// architecture are those of ggml-org/llama.cpp src/llama-model.cpp. Throws DataError that names
/// the file where the metadata are cut off or inconsistent, and for an architecture whose cache is
/// not known.
CacheSpec gguf_cache_spec(std::string_view bytes, const std::string& name);

}  // namespace attn
