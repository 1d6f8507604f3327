#include "kvcache-bench/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
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

// Which of the columns that say which row it is are worth having.
struct Keys {
  bool prompt_apart = false;
  bool types = false;
};

std::vector<cli::Table::Column> key_columns(const Keys& keys) {
  std::vector<cli::Table::Column> columns = {{"kv", kRight}, {"cache", kLeft}};
  if (keys.types) columns.push_back({"types", kLeft});
  columns.push_back({"phase", kLeft});
  if (keys.prompt_apart) {
    columns.push_back({"P", kRight});
    columns.push_back({"N", kRight});
  }
  columns.push_back({"tokens", kRight});
  return columns;
}

std::vector<std::string> key_cells(const Keys& keys, const CacheRow& row) {
  std::vector<std::string> cells = {grouped(row.kv_heads), std::string(cache_name(row.cache.kind))};
  if (keys.types) cells.push_back(row.cache.cached() ? types_name(row.cache.types) : "-");
  cells.push_back(row.phase);
  if (keys.prompt_apart) {
    cells.push_back(grouped(row.work.prompt));
    cells.push_back(grouped(row.work.new_tokens));
  }
  cells.push_back(grouped(row.tokens));
  return cells;
}

// A table of all rows: what says which it is, and `cells` of the columns behind.
template <class Cells>
cli::Table row_table(const std::vector<const CacheRow*>& rows, const Keys& keys,
                     const std::vector<cli::Table::Column>& columns, const Cells& cells) {
  std::vector<cli::Table::Column> all = key_columns(keys);
  all.insert(all.end(), columns.begin(), columns.end());
  cli::Table table(std::move(all));
  for (const CacheRow* row : rows) {
    std::vector<std::string> line = key_cells(keys, *row);
    for (std::string& cell : cells(*row)) line.push_back(std::move(cell));
    table.add(std::move(line));
  }
  return table;
}

// What is allocated beside what is in use; a contiguous cache's capacity alone says nothing.
bool any_paged(const CacheExperiment& experiment) {
  return std::any_of(experiment.rows().begin(), experiment.rows().end(),
                     [](const CacheRow& row) { return row.cache.kind == CacheKind::kPaged; });
}

cli::Table count_table(const CacheExperiment& experiment, const Keys& keys) {
  const bool allocated = any_paged(experiment);
  std::vector<cli::Table::Column> columns = {
      {"key rows", kRight}, {"formula", kLeft}, {"cache bytes", kRight}};
  if (allocated) columns.push_back({"allocated", kRight});
  std::vector<const CacheRow*> rows;
  for (const CacheRow& row : experiment.rows()) rows.push_back(&row);
  return row_table(rows, keys, columns, [&](const CacheRow& row) {
    const bool right = row.key_rows == row.key_rows_expected;
    const auto bytes = [&](Index count) { return row.cache.cached() ? grouped(count) : "-"; };
    std::vector<std::string> cells = {
        grouped(row.key_rows),
        right ? row.formula
              : fmt::format("WRONG: {} = {}", row.formula, grouped(row.key_rows_expected)),
        bytes(row.cache_bytes)};
    if (allocated) cells.push_back(bytes(row.allocated_bytes));
    return cells;
  });
}

cli::Table time_table(const std::vector<const CacheRow*>& rows, const Keys& keys) {
  return row_table(
      rows, keys, {{"median ms"}, {"iqr %"}, {"cpu ms"}, {"tok/s"}, {"us/token"}},
      [](const CacheRow& row) {
        return std::vector<std::string>{
            real_cell(row.wall.median() * 1e-6, 3),  real_cell(100 * row.wall.relative_iqr(), 1),
            real_cell(row.cpu.median() * 1e-6, 3),   real_cell(row.tokens_per_second(), 0),
            real_cell(row.ns_per_token() * 1e-3, 1),
        };
      });
}

// What cached decoding reads, and what everything else computes, beside what the machine can give.
cli::Table rate_table(const std::vector<const CacheRow*>& rows, const Keys& keys,
                      const Yardsticks& yardsticks) {
  return row_table(rows, keys,
                   {{"read/step"}, {"GB/s"}, {"of sweep %"}, {"GFLOP/s"}, {"of sgemm %"}},
                   [&](const CacheRow& row) {
                     const double bandwidth = row.bandwidth().value_or(kNothing);
                     const double sweep = row.reference_bandwidth.value_or(kNothing);
                     const bool reads = row.bytes_per_step().has_value();
                     const double flops = reads ? kNothing : row.flops_per_second();
                     return std::vector<std::string>{
                         reads ? short_size_text(static_cast<Index>(*row.bytes_per_step())) : "-",
                         real_cell(bandwidth * 1e-9, 1),
                         real_cell(100 * bandwidth / sweep, 0),
                         real_cell(flops * 1e-9, 1),
                         real_cell(100 * flops / yardsticks.sgemm_peak, 0),
                     };
                   });
}

// Prefill and decode apart; the order among the rows of each stays.
std::vector<const CacheRow*> by_phase(const std::vector<CacheRow>& rows,
                                      std::initializer_list<std::string_view> phases) {
  std::vector<const CacheRow*> sorted;
  for (const std::string_view phase : phases) {
    for (const CacheRow& row : rows) {
      if (row.phase == phase) sorted.push_back(&row);
    }
  }
  return sorted;
}

std::string people_report(const CacheExperiment& experiment, const BenchReportStyle& style) {
  const bool markdown = style.format == cli::Format::kMarkdown;
  const std::vector<CacheRow>& rows = experiment.rows();
  const Keys keys{style.prompt_apart,
                  std::any_of(rows.begin(), rows.end(),
                              [](const CacheRow& row) { return !row.cache.types.exact(); })};
  std::string text = style.headline + "\n\n";
  text += people_table(count_table(experiment, keys), markdown);
  text += '\n';
  text +=
      joined_lines(verdict_lines(experiment.agreement(), style.portable, style.compared), markdown);
  if (style.timed) {
    text += '\n';
    text +=
        people_table(time_table(by_phase(rows, {"prefill", "decode", "total"}), keys), markdown);
    text += '\n';
    text += people_table(
        rate_table(by_phase(rows, {"prefill", "decode"}), keys, *experiment.yardsticks()),
        markdown);
    text += '\n';
    text += joined_lines(yardstick_lines(experiment), markdown);
  }
  const std::string ratios = joined_lines(ratio_lines(exact_pairs(cache_pairs(rows))), markdown);
  if (!ratios.empty()) {
    if (!style.timed) text += '\n';
    text += ratios;
  }
  return text + joined_lines(crossover_lines(rows), markdown);
}

std::vector<cli::Json> json_rows(std::span<const CacheRow> rows,
                                 const std::vector<BenchColumn>& columns, bool timed) {
  std::vector<cli::Json> results;
  results.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CacheRow& row = rows[i];
    cli::Json result = json_row(columns, i);
    if (timed) {
      result["samples_ns"] = row.wall.values();
      result["cpu_samples_ns"] = row.cpu.values();
      result["step_median_ns"] = row.step_medians();
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::string json_report(const CacheExperiment& experiment, const BenchContext& context,
                        const BenchReportStyle& style) {
  cli::Json document = json_beginning(context, experiment.agreement(), style.portable);
  document["results"] =
      json_rows(experiment.rows(), bench_columns(experiment, style.timed), style.timed);
  document["comparisons"] = cli::Json::array();
  for (const CachePair& pair : cache_pairs(experiment.rows())) {
    cli::Json comparison;
    comparison["kv_heads"] = pair.with->kv_heads;
    comparison["cache"] = cache_name(pair.with->cache.kind);
    comparison["k_dtype"] = kv_type_name(pair.with->cache.types.keys);
    comparison["v_dtype"] = kv_type_name(pair.with->cache.types.values);
    comparison["prompt"] = pair.with->work.prompt;
    comparison["new_tokens"] = pair.with->work.new_tokens;
    comparison["key_rows_ratio"] = cli::json_number(pair.row_ratio());
    if (style.timed) {
      comparison["time_ratio"] = cli::json_number(pair.time_ratio());
      const std::optional<Index> crossover =
          crossover_step(cumulative_ns(experiment.rows(), *pair.with),
                         cumulative_ns(experiment.rows(), *pair.without));
      comparison["crossover"] = crossover ? cli::Json(*crossover) : cli::Json();
    }
    document["comparisons"].push_back(std::move(comparison));
  }
  return cli::json_text(document);
}

// Rows for programs, a block at a time.
void write_rows(cli::Report& report, const CacheExperiment& experiment, const BenchContext& context,
                const BenchReportStyle& style) {
  constexpr std::size_t kBlock = 4096;
  const std::span<const CacheRow> all = experiment.rows();
  for (std::size_t first = 0; first < all.size(); first += kBlock) {
    const std::span<const CacheRow> rows = all.subspan(first, std::min(kBlock, all.size() - first));
    const std::vector<BenchColumn> columns = bench_columns(experiment, rows, style.timed);
    if (style.format == cli::Format::kJsonLines) {
      report.write(json_lines(context, json_rows(rows, columns, style.timed)));
      continue;
    }
    const cli::Table table = column_table(columns);
    const bool tabs = style.format == cli::Format::kTsv;
    if (first == 0) {
      report.write(tabs ? table.tsv() : table.csv());
    } else {
      report.write(tabs ? table.tsv_rows() : table.csv_rows());
    }
  }
}

}  // namespace

void write_bench_report(cli::Report& report, const CacheExperiment& experiment,
                        const BenchContext& context, const BenchReportStyle& style) {
  switch (style.format) {
    case cli::Format::kTsv:
    case cli::Format::kCsv:
    case cli::Format::kJsonLines:
      return write_rows(report, experiment, context, style);
    case cli::Format::kJson:
      return report.write(json_report(experiment, context, style));
    default:
      return report.write(people_report(experiment, style));
  }
}

}  // namespace attn
