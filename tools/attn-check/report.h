#pragma once

#include <string>

#include "check/check_attention.h"
#include "check/example.h"
#include "check/house_report.h"
#include "cli/common_options.h"
#include "cli/session.h"

namespace attn {

// What attn-check says of a case: its verdict, steps to three digits, pictures.

/// How the report is written.
struct ReportStyle {
  cli::Format format = cli::Format::kText;
  bool steps = false;  // text: scores, weights and outputs of the one head, before the verdict
  bool show = false;   // text: a picture of the weights
  const HouseReport* houses = nullptr;  // what other projects' tolerances say
};

/// Reports on a recorded case. `steps` and `show` need the maps in `found.fast`.
void print_case(const std::string& name, const AttentionCase& recorded,
                const AttentionReport& found, const ReportStyle& style, cli::Session& session);

/// Reports on an example, open and under a causal mask; `random` says where its tokens are from.
void print_example(const AttentionExample& example, const ExampleRun& run, bool random,
                   const ReportStyle& style, cli::Session& session);

}  // namespace attn
