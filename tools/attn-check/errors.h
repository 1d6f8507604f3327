#pragma once

#include <vector>

#include "check/verdict/error_summary.h"
#include "cli/json.h"
#include "cli/report.h"

namespace attn {

// Where the error of a failed tensor sits: as a table of the stretches that have a part in it, and
// as JSON of all stretches.

void print_errors(const std::vector<ErrorSummary>& summaries, cli::Report& report);

cli::Json errors_json(const std::vector<ErrorSummary>& summaries);

}  // namespace attn
