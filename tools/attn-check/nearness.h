#pragma once

#include "check/house_report.h"
#include "check/verdict/verdict.h"
#include "cli/json.h"
#include "cli/report.h"

namespace attn {

// How near what was recorded is, by other measures than this program's own.

/// NMSE, cosine, correlation and largest relative error of each tensor that was compared; nothing
/// where none was.
void print_metrics(const Verdict& verdict, cli::Report& report);

/// The same of one check: adds "nmse", "cosine", "pearson", "max_relative_error".
void add_metrics(const Check& check, cli::Json& document);

/// What each house says, and who disagrees with the chosen one.
void print_houses(const HouseReport& houses, cli::Report& report);

/// Adds "tolerance", "houses" and "houses_remark".
void add_houses(const HouseReport& houses, cli::Json& document);

}  // namespace attn
