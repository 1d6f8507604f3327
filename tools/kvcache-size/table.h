#pragma once

#include <string>

#include "cli/common_options.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/table.h"

namespace attn {

/// One answer in three dresses: aligned (or Markdown) for people with words around it, bare numbers
/// for tsv and csv, JSON.
struct TableAnswer {
  std::string before;  ///< words above the table, for people
  cli::Table people;
  std::string after = "";  ///< words below
  cli::Table program;
  cli::Json json = {};
};

inline void write_answer(const TableAnswer& answer, cli::Format format, cli::Report& report) {
  switch (format) {
    case cli::Format::kJson:
      report.write(cli::json_text(answer.json));
      break;
    case cli::Format::kTsv:
      report.write(answer.program.tsv());
      break;
    case cli::Format::kCsv:
      report.write(answer.program.csv());
      break;
    default:
      report.write(answer.before);
      report.write(format == cli::Format::kMarkdown ? answer.people.markdown()
                                                    : answer.people.text());
      report.write(answer.after);
  }
}

}  // namespace attn
