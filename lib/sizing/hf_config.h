#pragma once

#include <string>
#include <string_view>

#include "sizing/cache_spec.h"

namespace attn {

/// What a model caches, from the text of its Hugging Face config.json, flat or nested, in any
/// spelling of the known families. Numbers are taken from the file, follow from it, or are the
/// defaults of its class, and `facts` says from where each comes. A family that is not known, and a
/// key that changes the cache in a way that is not known, are refused by name (DataError): a number
/// that is wrong helps nobody. `assume` is a family whose rule to use whatever the file calls
/// itself; empty for none (UsageError if it is not known). `name` is what messages call the input.
CacheSpec hf_cache_spec(std::string_view json, const std::string& name,
                        std::string_view assume = "");

}  // namespace attn
