#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/agreement.h"
#include "bench/bench_columns.h"
#include "cli/json.h"
#include "cli/table.h"

namespace attn {

// What all reports of kvcache-bench are made of, whatever their rows are.

/// A row for programs, in tsv or csv: all columns; what was not measured is "nan".
cli::Table column_table(const std::vector<BenchColumn>& columns);

/// A row as a JSON object: null for what was not measured.
cli::Json json_row(const std::vector<BenchColumn>& columns, std::size_t row);
cli::Json json_context(const BenchContext& context);

/// What begins the JSON document of an experiment: its context, and whether counts and outputs
/// agree. With `portable` without differences, which depend on the processor.
cli::Json json_beginning(const BenchContext& context, const Agreement& agreement, bool portable);

/// One line for each row, which holds the context too: every line can be repeated by itself.
std::string json_lines(const BenchContext& context, const std::vector<cli::Json>& rows);

/// A number with so many digits behind the point, "-" where there is none.
std::string real_cell(double value, int digits);

/// A line each. Markdown would join them into one paragraph: there they are a list.
std::string joined_lines(const std::vector<std::string>& lines, bool markdown);

/// For people: aligned, or Markdown.
std::string people_table(const cli::Table& table, bool markdown);

}  // namespace attn
