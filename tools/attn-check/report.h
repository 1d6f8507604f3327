#pragma once

#include <string>
#include <vector>

#include "check/check_attention.h"
#include "check/example.h"
#include "check/house_report.h"
#include "cli/common_options.h"
#include "cli/json.h"
#include "cli/session.h"
#include "cli/table.h"

namespace attn {

// What attn-check says: verdict tables, steps to three digits, pictures.

/// More rows or columns of three digits are no longer read.
inline constexpr Index kMostPrinted = 12;

/// How the report is written.
struct ReportStyle {
  cli::Format format = cli::Format::kText;
  bool steps = false;  // text: scores, weights and outputs of the one head, before the verdict
  bool show = false;   // text: a picture of the weights
  const HouseReport* houses = nullptr;  // what other projects' tolerances say
};

/// "pass", "fail", "none".
const char* verdict_word(Outcome outcome);
/// A verdict's checks as a table, and all of it as JSON.
cli::Table verdict_table(const Verdict& verdict);
cli::Json verdict_json(const Verdict& verdict);
cli::Json checks_json(const Verdict& verdict);
/// Each diagnosis, with what is known of the mistake in general.
void print_diagnosis(const std::vector<Diagnosis>& diagnosis, cli::Report& report);

/// Reports on a recorded case. `steps` and `show` need the maps in `found.fast`.
void print_case(const std::string& name, const AttentionCase& recorded,
                const AttentionReport& found, const ReportStyle& style, cli::Session& session);

/// Reports on an example, open and under a causal mask; `random` says where its tokens are from.
void print_example(const AttentionExample& example, const ExampleRun& run, bool random,
                   const ReportStyle& style, cli::Session& session);

}  // namespace attn
