#pragma once

#include <string>

#include "cli/common_options.h"
#include "cli/terminal.h"
#include "sizing/size_grid.h"

namespace attn {

/// The grid as kvcache-size reports it: a table for people (text and Markdown, with the shape above
/// it where a file or a name gave it), one row per answer for programs (tsv, csv, json).
std::string size_report(const SizeGrid& grid, cli::Format format);

/// Bytes against tokens, a curve for each combination of everything else, up to as many as can be
/// told apart.
std::string size_picture(const SizeGrid& grid, const cli::Terminal& terminal);

}  // namespace attn
