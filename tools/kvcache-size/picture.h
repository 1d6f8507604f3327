#pragma once

#include <string>

#include "cli/terminal.h"
#include "sizing/size_grid.h"

namespace attn {

/// Bytes against tokens, a curve for each combination of everything else, up to as many as can be
/// told apart.
std::string size_picture(const SizeGrid& grid, const cli::Terminal& terminal);

}  // namespace attn
