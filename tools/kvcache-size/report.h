#pragma once

#include <string>

#include "cli/common_options.h"
#include "cli/report.h"
#include "kvcache-size/options.h"
#include "sizing/size_grid.h"

namespace attn {

/// What a grid is of, in a few words: "3 models"; "3 models at 4,096 tokens, f16".
std::string models_words(const SizeGrid& grid);
std::string grid_words(const SizeGrid& grid);

/// The grid as kvcache-size reports it: a short answer, then a table for people (text and
/// Markdown), one row per answer for programs (tsv, csv, json). tsv and csv are written as they are
/// computed.
void report_sizes(const SizeGrid& grid, const SizeOptions& options, cli::Report& report);

}  // namespace attn
