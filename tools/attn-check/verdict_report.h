#pragma once

#include <string>
#include <vector>

#include "check/verdict/diagnosis.h"
#include "check/verdict/verdict.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/table.h"

namespace attn {

// A verdict as a table and as JSON, and its diagnosis in words.

/// Two digits: "1.25e-07", "0", "nan".
std::string error_text(double error);
/// "pass", "fail", "none".
const char* verdict_word(Outcome outcome);
/// A verdict's checks as a table, and all of it as JSON.
cli::Table verdict_table(const Verdict& verdict);
cli::Json verdict_json(const Verdict& verdict);
cli::Json checks_json(const Verdict& verdict);
/// Each diagnosis, with what is known of the mistake in general.
void print_diagnosis(const std::vector<Diagnosis>& diagnosis, cli::Report& report);

}  // namespace attn
