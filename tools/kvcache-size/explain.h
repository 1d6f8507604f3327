#pragma once

#include <string>

#include "sizing/size_grid.h"

namespace attn {

/// One answer in full: the sum as arithmetic, a table of layers with rows and bytes, and where each
/// number of the model came from.
std::string explained(const CacheSpec& spec, const CacheQuestion& question);

/// "keys and values of 2 GiB = 32 layers x ...", a line for each kind of rows.
std::string arithmetic(const CacheSpec& spec, const CacheQuestion& question);

/// Where the numbers came from; only those that the file does not say, unless all are wanted.
std::string facts_text(const CacheSpec& spec, bool all);

}  // namespace attn
