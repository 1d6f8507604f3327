#pragma once

#include <string>

#include "cli/terminal.h"
#include "io/tensor_diff.h"

namespace attn {

/// |a - b| of a tensor's matrices, along its leading axes those that differ, as heat maps of one
/// scale; of a vector as a row, or where it is long as a curve. A dot is what counts as equal, a
/// question mark what is not finite on one side.
std::string difference_picture(const std::string& name, const Shape& shape,
                               const DifferenceMap& map, const cli::Terminal& terminal);

}  // namespace attn
