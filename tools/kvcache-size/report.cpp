#include "kvcache-size/report.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "cli/table.h"
#include "core/counted.h"
#include "core/error.h"
#include "core/text.h"
#include "kvcache-size/explain.h"
#include "kvcache-size/json.h"

namespace attn {
namespace {

using cli::Table;

std::string cell(std::optional<Index> number) {
  return number ? fmt::format("{}", *number) : "-";
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

bool swept(const std::vector<Index>& axis, Index standard) {
  return axis != std::vector<Index>{standard};
}

std::string shape_text(const SizeGrid& grid, bool all_facts) {
  std::string text;
  for (const CacheSpec& spec : grid.shapes) {
    if (spec.facts.empty()) continue;
    text += or_dash(spec.model) + "\n";
    for (const std::string& line : layer_summary(spec)) text += fmt::format("  {}\n", line);
    text += facts_text(spec, all_facts);
    text += "\n";
  }
  return text;
}

std::string percent_of(Index part, Index whole) {
  if (whole == 0) return part == 0 ? "+0 %" : "-";
  const double ratio =
      100.0 * (static_cast<double>(part) - static_cast<double>(whole)) / static_cast<double>(whole);
  return fmt::format("{:+.2f} %", ratio);
}

std::string ratio_text(Index bytes, Index first) {
  if (first == 0) return "-";
  return fmt::format("x {:.4g}", static_cast<double>(bytes) / static_cast<double>(first));
}

std::string people_table(const SizeGrid& grid, const SizeOptions& o) {
  const bool by_numbers = grid.shapes.front().facts.empty();
  const bool several = grid.shapes.size() > 1 && !by_numbers;
  const bool runtime = grid.runtime.kind != Runtime::Kind::kIdeal;
  const bool ranks = swept(grid.ranks, 1);
  const bool encoder = swept(grid.encoder_tokens, 0);
  const bool state = std::any_of(grid.shapes.begin(), grid.shapes.end(),
                                 [](const CacheSpec& spec) { return spec.has_state(); });
  std::vector<Table::Column> columns;
  if (several) columns.push_back({"model", Table::Align::kLeft});
  if (by_numbers) columns = {{"layers"}, {"kv heads"}, {"head dim"}};
  columns.push_back({"tokens"});
  if (encoder) columns.push_back({"encoder"});
  for (const char* name : {"batch", "type", "keys", "values", "a token"}) columns.push_back({name});
  if (state) columns.push_back({"state"});
  if (ranks) columns.insert(columns.end(), {{"ranks"}, {"a rank"}});
  if (runtime) columns.insert(columns.end(), {{"ideal"}, {"more"}});
  if (o.compare) columns.push_back({"to first"});
  columns.push_back({"cache", Table::Align::kLeft});
  Table table(columns);
  Index first = 0;
  for (Index i = 0; i < grid.size(); ++i) {
    const SizeRow row = grid.row(i);
    if (i == 0) first = row.bytes.total;
    const CacheSpec& spec = shape_of(grid, row);
    std::vector<std::string> cells;
    if (several) cells.push_back(or_dash(spec.model));
    if (by_numbers) {
      cells = {fmt::format("{}", spec.caching_layers()), cell(common(spec, &CacheRows::kv_heads)),
               cell(common(spec, &CacheRows::key_dim))};
    }
    cells.push_back(grouped(row.tokens));
    if (encoder) cells.push_back(grouped(row.encoder_tokens));
    for (const std::string& text :
         {grouped(row.batch), types_of(grid, row).name(), short_size_text(row.bytes.keys),
          short_size_text(row.bytes.values), short_size_text(row.token_bytes)}) {
      cells.push_back(text);
    }
    if (state) cells.push_back(short_size_text(row.bytes.state));
    if (ranks) {
      cells.push_back(fmt::format("{}", row.ranks));
      cells.push_back(short_size_text(row.bytes.rank));
    }
    if (runtime) {
      const Index ideal = grid.ideal(row).total;
      cells.push_back(short_size_text(ideal));
      cells.push_back(percent_of(row.bytes.total, ideal));
    }
    if (o.compare) cells.push_back(ratio_text(row.bytes.total, first));
    cells.push_back(size_text(row.bytes.total));
    table.add(std::move(cells));
  }
  return o.format == cli::Format::kMarkdown ? table.markdown() : table.text();
}

// Why the runtime's figure is another, where one is asked about.
std::string runtime_text(const SizeGrid& grid) {
  std::string text;
  if (grid.runtime.kind == Runtime::Kind::kIdeal) return text;
  for (const CacheSpec& spec : grid.shapes) {
    for (const std::string& reason : runtime_reasons(grid.runtime, spec)) {
      const std::string line = fmt::format("  {}: {}\n", runtime_name(grid.runtime.kind), reason);
      if (text.find(line) == std::string::npos) text += line;
    }
  }
  return text.empty() ? text : "\n" + text;
}

std::string people_text(const SizeGrid& grid, const SizeOptions& o) {
  constexpr Index kMostForPeople = 1'000'000;
  constexpr Index kMostExplained = 20;
  if (grid.size() > kMostForPeople) {
    throw UsageError(fmt::format("{} rows are too many to align", grouped(grid.size())),
                     {"--format tsv or csv writes them one by one"});
  }
  std::string text;
  if (grid.size() == 1) {
    const KvBytes bytes = grid.row(0).bytes;
    text += size_text(bytes.total);
    if (bytes.state > 0) text += fmt::format(", and {} of recurrent state", size_text(bytes.state));
    text += "\n\n";
  }
  text += shape_text(grid, o.explain && grid.size() > kMostExplained);
  text += people_table(grid, o);
  text += runtime_text(grid);
  if (!o.explain) return text;
  for (Index i = 0; i < std::min(grid.size(), kMostExplained); ++i) {
    const SizeRow row = grid.row(i);
    const CacheSpec& spec = shape_of(grid, row);
    text += "\n";
    if (grid.size() > 1) {
      text +=
          fmt::format("{}{} tokens x {} in {}: {}\n", spec.model.empty() ? "" : spec.model + ": ",
                      grouped(row.tokens), grouped(row.batch), types_of(grid, row).name(),
                      size_text(row.bytes.total));
    }
    text += explained(spec, grid.question(i));
  }
  return text;
}

// One line for each row, written as it is computed: a long sweep takes no memory.
void write_lines(const SizeGrid& grid, char separator, cli::Report& report) {
  constexpr std::size_t kBuffer = 1 << 16;
  const bool tabs = separator == '\t';
  std::string names =
      "#model,layers,kv_heads,head_dim,tokens,batch,cache_dtype,bytes,k_bytes,v_bytes,state_bytes,"
      "token_bytes,encoder_tokens,tensor_parallel,rank_bytes,runtime,ideal_bytes\n";
  if (tabs) std::replace(names.begin(), names.end(), ',', '\t');
  fmt::memory_buffer lines;
  lines.append(names);
  std::vector<std::string> shapes;
  for (const CacheSpec& spec : grid.shapes) {
    const std::string model = or_dash(spec.model);
    shapes.push_back(fmt::format("{1}{0}{2}{0}{3}{0}{4}", separator,
                                 tabs ? cli::tsv_cell(model) : cli::csv_cell(model),
                                 spec.caching_layers(), cell(common(spec, &CacheRows::kv_heads)),
                                 cell(common(spec, &CacheRows::key_dim))));
  }
  const std::string runtime = runtime_name(grid.runtime.kind);
  const bool ideal = grid.runtime.kind == Runtime::Kind::kIdeal;
  for (Index i = 0; i < grid.size(); ++i) {
    const SizeRow row = grid.row(i);
    const KvBytes& bytes = row.bytes;
    fmt::format_to(std::back_inserter(lines),
                   "{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}{0}{7}{0}{8}{0}{9}{0}{10}{0}{11}{0}{12}{0}{13}"
                   "{0}{14}\n",
                   separator, shapes[static_cast<std::size_t>(row.shape)], row.tokens, row.batch,
                   types_of(grid, row).name(), bytes.total, bytes.keys, bytes.values, bytes.state,
                   row.token_bytes, row.encoder_tokens, row.ranks, bytes.rank, runtime,
                   ideal ? bytes.total : grid.ideal(row).total);
    if (lines.size() < kBuffer) continue;
    report.write({lines.data(), lines.size()});
    lines.clear();
  }
  report.write({lines.data(), lines.size()});
}

}  // namespace

std::string models_words(const SizeGrid& grid) {
  const std::string& model = grid.shapes.front().model;
  if (grid.shapes.size() == 1 && !model.empty()) return escaped(model);
  return counted(std::ssize(grid.shapes), model.empty() ? "shape" : "model");
}

std::string grid_words(const SizeGrid& grid) {
  const auto several = [](const auto& axis, const char* noun) {
    return counted(std::ssize(axis), noun);
  };
  std::string text = models_words(grid) + " at " +
                     (grid.tokens.size() == 1 ? counted(grid.tokens.front(), "token")
                                              : several(grid.tokens, "length"));
  if (swept(grid.batches, 1)) {
    text += grid.batches.size() == 1 ? ", batch " + grouped(grid.batches.front())
                                     : ", " + several(grid.batches, "batch size");
  }
  return text + ", " +
         (grid.types.size() == 1 ? grid.types.front().name() : several(grid.types, "type"));
}

void report_sizes(const SizeGrid& grid, const SizeOptions& options, cli::Report& report) {
  switch (options.format) {
    case cli::Format::kJson:
      report.write(sizes_as_json(grid, options));
      break;
    case cli::Format::kTsv:
      write_lines(grid, '\t', report);
      break;
    case cli::Format::kCsv:
      write_lines(grid, ',', report);
      break;
    default:
      report.write(people_text(grid, options));
  }
}

}  // namespace attn
