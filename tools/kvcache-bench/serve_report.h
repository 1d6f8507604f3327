#pragma once

#include <string>

#include "bench/serving_table.h"
#include "cli/common_options.h"

namespace attn {

/// How the report of a serving is written, and what it may say.
struct ServeReportStyle {
  cli::Format format = cli::Format::kText;
  std::string headline;   // text and Markdown: what serves
  Index memory = 0;       // bytes for keys and values
  Index row_bytes = 1;    // of one row's
  bool portable = false;  // nothing that depends on the processor
  bool timed = false;
  bool compared = true;  // outputs were
};

std::string serve_report(const ServingExperiment& experiment, const BenchContext& context,
                         const ServeReportStyle& style);

}  // namespace attn
