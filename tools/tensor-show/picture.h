#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "core/tensor.h"

namespace attn {

/// A matrix as a heat map, a stack of up to 64 of them along any leading axes as thumbnails, a line
/// as one row or, where it is long, as a curve. A -inf is a dot, as of what is masked; other values
/// that are not finite are question marks. The scale begins at 0, or is even about it where a value
/// is negative. Throws UsageError for more than can be seen.
std::string tensor_picture(const std::string& name, const Shape& shape,
                           const std::vector<float>& values, const cli::Terminal& terminal);

}  // namespace attn
