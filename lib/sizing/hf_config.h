#pragma once

#include <string>
#include <string_view>

#include "sizing/cache_spec.h"

namespace attn {

/// What a model caches, from the text of its Hugging Face config.json. Numbers are taken from the
/// file or follow from it, and `facts` says from where. A family that is not known, and a key that
/// changes the cache in a way that is not known, are refused by name (DataError): a number that is
/// wrong helps nobody. `name` is what messages call the input.
CacheSpec hf_cache_spec(std::string_view json, const std::string& name);

}  // namespace attn
