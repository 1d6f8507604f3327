#include "kvcache-bench/serve_report.h"

#include <fmt/core.h>

#include <cstddef>
#include <vector>

#include "bench/cache_summary.h"
#include "cli/json.h"
#include "cli/table.h"
#include "core/counted.h"
#include "core/text.h"
#include "kvcache-bench/columns.h"

namespace attn {
namespace {

constexpr auto kLeft = cli::Table::Align::kLeft;

std::string load_line(const ServingExperiment& experiment, const ServeReportStyle& style) {
  const ServingLoad& load = experiment.load();
  const Index prompts = load.rows() - load.new_tokens() + load.count();
  return fmt::format(
      "{}: {} prompt and {} new tokens, {} cached rows, at most {} of one\n"
      "{} for keys and values, {} a row\n\n",
      counted(load.count(), "sequence"), grouped(prompts), grouped(load.new_tokens()),
      grouped(load.rows()), grouped(load.longest), short_size_text(style.memory),
      short_size_text(style.row_bytes));
}

std::string percent(double share) {
  return real_cell(100 * share, 1);
}

cli::Table count_table(const ServingExperiment& experiment, Index row_bytes) {
  cli::Table table({{"cache", kLeft},
                    {"steps"},
                    {"running"},
                    {"most"},
                    {"peak memory"},
                    {"waste %"},
                    {"most %"},
                    {"at end %"},
                    {"key rows"},
                    {"half done"},
                    {"90 %"},
                    {"all"}});
  for (const ServingRow& row : experiment.rows()) {
    const ServingRun& run = row.run;
    std::string key_rows = grouped(run.key_rows);
    if (run.key_rows != row.key_rows_expected)
      key_rows += fmt::format(" WRONG: {}", grouped(row.key_rows_expected));
    std::vector<std::string> cells = {std::string(serving_way_name(row.settings.way)),
                                      grouped(run.steps),
                                      real_cell(run.mean_running(), 1),
                                      grouped(run.most_running),
                                      short_size_text(run.peak_rows * row_bytes),
                                      percent(run.mean_waste),
                                      percent(run.largest_waste),
                                      percent(row.waste_at_end()),
                                      std::move(key_rows)};
    for (const double share : kFinishShares)
      cells.push_back(real_cell(row.steps_to_finish(share), 0));
    table.add(std::move(cells));
  }
  return table;
}

cli::Table time_table(const ServingExperiment& experiment) {
  cli::Table table({{"cache", kLeft},
                    {"seconds"},
                    {"iqr %"},
                    {"cpu s"},
                    {"prompt tok/s"},
                    {"decode tok/s"},
                    {"new tok/s"},
                    {"half done s"},
                    {"90 %"},
                    {"all"}});
  for (const ServingRow& row : experiment.rows()) {
    std::vector<std::string> cells = {std::string(serving_way_name(row.settings.way)),
                                      real_cell(row.wall.median() * 1e-9, 3),
                                      real_cell(100 * row.wall.relative_iqr(), 1),
                                      real_cell(row.cpu.median() * 1e-9, 3),
                                      real_cell(row.prompt_rate(), 0),
                                      real_cell(row.decode_rate(experiment.load()), 0),
                                      real_cell(row.total_rate(experiment.load()), 0)};
    for (const Samples& finish : row.finish) cells.push_back(real_cell(finish.median() * 1e-9, 3));
    table.add(std::move(cells));
  }
  return table;
}

std::string compared_line(const ServingExperiment& experiment) {
  const Index one_in = experiment.compared_one_in();
  if (one_in == 1) return "outputs: of all tokens, against each sequence alone";
  return fmt::format("outputs: of one token in {} and each last, against each sequence alone",
                     grouped(one_in));
}

std::string people_report(const ServingExperiment& experiment, const ServeReportStyle& style) {
  const bool markdown = style.format == cli::Format::kMarkdown;
  std::string text = style.headline + "\n" + load_line(experiment, style);
  text += people_table(count_table(experiment, style.row_bytes), markdown);
  std::vector<std::string> lines =
      verdict_lines(experiment.agreement(), style.portable, style.compared);
  if (style.compared) lines.push_back(compared_line(experiment));
  text += '\n' + joined_lines(lines, markdown);
  if (style.timed) text += '\n' + people_table(time_table(experiment), markdown);
  const std::vector<std::string> conclusions = serving_lines(experiment);
  if (!conclusions.empty()) text += '\n' + joined_lines(conclusions, markdown);
  return text;
}

cli::Json json_of_row(const ServingExperiment& experiment, const ServeReportStyle& style,
                      const std::vector<BenchColumn>& columns, std::size_t row) {
  cli::Json result = json_row(columns, row);
  const ServingRow& one = experiment.rows()[row];
  result["steps_to_finish"] = one.run.steps_to_finish;
  if (style.timed) {
    result["samples_ns"] = one.wall.values();
    result["cpu_samples_ns"] = one.cpu.values();
  }
  return result;
}

std::string json_report(const ServingExperiment& experiment, const BenchContext& context,
                        const ServeReportStyle& style, const std::vector<cli::Json>& rows) {
  cli::Json document = json_beginning(context, experiment.agreement(), style.portable);
  document["results"] = rows;
  return cli::json_text(document);
}

}  // namespace

std::string serve_report(const ServingExperiment& experiment, const BenchContext& context,
                         const ServeReportStyle& style) {
  const std::vector<BenchColumn> columns =
      serving_columns(experiment, style.row_bytes, style.timed);
  std::vector<cli::Json> rows;
  for (std::size_t row = 0; row < experiment.rows().size(); ++row)
    rows.push_back(json_of_row(experiment, style, columns, row));
  switch (style.format) {
    case cli::Format::kTsv:
      return column_table(columns).tsv();
    case cli::Format::kCsv:
      return column_table(columns).csv();
    case cli::Format::kJson:
      return json_report(experiment, context, style, rows);
    case cli::Format::kJsonLines:
      return json_lines(context, rows);
    default:
      return people_report(experiment, style);
  }
}

}  // namespace attn
