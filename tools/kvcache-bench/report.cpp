#include "kvcache-bench/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "bench/cache_summary.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/text.h"
#include "kvcache-bench/columns.h"

namespace attn {
namespace {

constexpr auto kLeft = cli::Table::Align::kLeft;
constexpr auto kRight = cli::Table::Align::kRight;
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// The columns that say which row it is, in all tables for people.
std::vector<cli::Table::Column> key_columns(bool prompt_apart) {
  std::vector<cli::Table::Column> columns = {{"kv", kRight}, {"cache", kLeft}, {"phase", kLeft}};
  if (prompt_apart) {
    columns.push_back({"P", kRight});
    columns.push_back({"N", kRight});
  }
  columns.push_back({"tokens", kRight});
  return columns;
}

std::vector<std::string> key_cells(bool prompt_apart, const CacheRow& row) {
  std::vector<std::string> cells = {grouped(row.kv_heads), std::string(cache_name(row.cache)),
                                    row.phase};
  if (prompt_apart) {
    cells.push_back(grouped(row.work.prompt));
    cells.push_back(grouped(row.work.new_tokens));
  }
  cells.push_back(grouped(row.tokens));
  return cells;
}

// What pages take beside what they hold; a contiguous cache's capacity says nothing.
bool any_paged(const CacheExperiment& experiment) {
  return std::any_of(experiment.rows().begin(), experiment.rows().end(),
                     [](const CacheRow& row) { return row.cache == CacheKind::kPaged; });
}

cli::Table count_table(const CacheExperiment& experiment, const BenchReportStyle& style) {
  const bool allocated = any_paged(experiment);
  std::vector<cli::Table::Column> columns = key_columns(style.prompt_apart);
  columns.insert(columns.end(),
                 {{"key rows", kRight}, {"formula", kLeft}, {"cache bytes", kRight}});
  if (allocated) columns.push_back({"allocated", kRight});
  cli::Table table(std::move(columns));
  for (const CacheRow& row : experiment.rows()) {
    std::vector<std::string> cells = key_cells(style.prompt_apart, row);
    const bool right = row.key_rows == row.key_rows_expected;
    const bool cached = row.cache != CacheKind::kNone;
    cells.push_back(grouped(row.key_rows));
    cells.push_back(
        right ? row.formula
              : fmt::format("WRONG: {} = {}", row.formula, grouped(row.key_rows_expected)));
    cells.push_back(cached ? grouped(row.cache_bytes) : "-");
    if (allocated) cells.push_back(cached ? grouped(row.allocated_bytes) : "-");
    table.add(std::move(cells));
  }
  return table;
}

cli::Table time_table(const CacheExperiment& experiment, const BenchReportStyle& style) {
  std::vector<cli::Table::Column> columns = key_columns(style.prompt_apart);
  for (const char* name : {"median ms", "iqr %", "cpu ms", "tok/s", "read GB/s", "of sweep %"}) {
    columns.push_back({name, kRight});
  }
  cli::Table table(std::move(columns));
  for (const CacheRow& row : experiment.rows()) {
    std::vector<std::string> cells = key_cells(style.prompt_apart, row);
    const double bandwidth = row.bandwidth().value_or(kNothing);
    const double share = 100 * bandwidth / row.reference_bandwidth.value_or(kNothing);
    cells.push_back(real_cell(row.wall.median() * 1e-6, 3));
    cells.push_back(real_cell(100 * row.wall.relative_iqr(), 1));
    cells.push_back(real_cell(row.cpu.median() * 1e-6, 3));
    cells.push_back(real_cell(row.tokens_per_second(), 0));
    cells.push_back(real_cell(bandwidth * 1e-9, 1));
    cells.push_back(real_cell(share, 0));
    table.add(std::move(cells));
  }
  return table;
}

std::string people_report(const CacheExperiment& experiment, const BenchReportStyle& style) {
  const bool markdown = style.format == cli::Format::kMarkdown;
  std::string text = style.headline + "\n\n";
  text += people_table(count_table(experiment, style), markdown);
  text += '\n';
  text += joined_lines(verdict_lines(experiment.agreement(), style.portable), markdown);
  if (style.timed) {
    text += '\n';
    text += people_table(time_table(experiment, style), markdown);
  }
  const std::vector<CachePair> pairs = cache_pairs(experiment.rows());
  const std::string ratios = joined_lines(ratio_lines(pairs), markdown);
  if (!ratios.empty()) {
    text += '\n';
    text += ratios;
  }
  return text + joined_lines(crossover_lines(pairs), markdown);
}

std::vector<cli::Json> json_rows(const CacheExperiment& experiment, const BenchReportStyle& style,
                                 const std::vector<BenchColumn>& columns) {
  std::vector<cli::Json> rows;
  for (std::size_t row = 0; row < experiment.rows().size(); ++row) {
    cli::Json result = json_row(columns, row);
    if (style.timed) {
      result["samples_ns"] = experiment.rows()[row].wall.values();
      result["cpu_samples_ns"] = experiment.rows()[row].cpu.values();
    }
    rows.push_back(std::move(result));
  }
  return rows;
}

std::string json_report(const CacheExperiment& experiment, const BenchContext& context,
                        const BenchReportStyle& style, const std::vector<BenchColumn>& columns) {
  const Agreement& agreement = experiment.agreement();
  cli::Json document;
  document["schema"] = 1;
  document["context"] = json_context(context);
  document["counts_agree"] = agreement.counts;
  document["outputs_agree"] = agreement.compared ? cli::Json(agreement.outputs) : cli::Json();
  if (agreement.compared && !style.portable) {
    document["max_difference"] = cli::json_number(agreement.max_difference);
    document["max_difference_bound"] = cli::json_number(agreement.bound);
  }
  document["results"] = json_rows(experiment, style, columns);
  document["comparisons"] = cli::Json::array();
  for (const CachePair& pair : cache_pairs(experiment.rows())) {
    cli::Json comparison;
    comparison["kv_heads"] = pair.with->kv_heads;
    comparison["prompt"] = pair.with->work.prompt;
    comparison["new_tokens"] = pair.with->work.new_tokens;
    comparison["key_rows_ratio"] = cli::json_number(pair.row_ratio());
    if (style.timed) comparison["time_ratio"] = cli::json_number(pair.time_ratio());
    document["comparisons"].push_back(std::move(comparison));
  }
  return cli::json_text(document);
}

}  // namespace

std::string bench_report(const CacheExperiment& experiment, const BenchContext& context,
                         const BenchReportStyle& style) {
  const std::vector<BenchColumn> columns = bench_columns(experiment, style.timed);
  switch (style.format) {
    case cli::Format::kTsv:
      return column_table(columns).tsv();
    case cli::Format::kCsv:
      return column_table(columns).csv();
    case cli::Format::kJson:
      return json_report(experiment, context, style, columns);
    case cli::Format::kJsonLines:
      return json_lines(context, json_rows(experiment, style, columns));
    default:
      return people_report(experiment, style);
  }
}

}  // namespace attn
