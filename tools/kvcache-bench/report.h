#pragma once

#include <string>

#include "bench/bench_table.h"
#include "bench/cache_experiment.h"
#include "cli/common_options.h"
#include "cli/report.h"

namespace attn {

/// How kvcache-bench's report is written, and what of the experiment it may say.
struct BenchReportStyle {
  cli::Format format = cli::Format::kText;
  std::string headline;       // text and Markdown: what decodes
  bool prompt_apart = false;  // text and Markdown: prompt and new tokens in columns of their own
  bool portable = false;      // nothing that depends on the processor: the same bytes everywhere
  bool timed = false;         // times were taken
  bool compared = true;       // outputs were, where there was more than one way
};

/// The whole report: counts, verdicts, times and ratios for people, one row per measurement for
/// programs (tsv, csv, json, jsonl; the context in the last two only). Lines are written as they
/// are made: of a long sweep never all of them are in memory.
void write_bench_report(cli::Report& report, const CacheExperiment& experiment,
                        const BenchContext& context, const BenchReportStyle& style);

}  // namespace attn
