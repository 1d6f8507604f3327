#include "kvcache-size-report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "core/text.h"

namespace attn {
namespace {

using cli::Json;
using cli::Table;

const CacheSpec& shape_of(const SizeGrid& grid, const SizeRow& row) {
  return grid.shapes[static_cast<std::size_t>(row.shape)];
}

// Key-value heads or features of a head, where all layers have the same.
std::optional<Index> common(const CacheSpec& spec, Index LayerCache::*field) {
  if (spec.layers.empty()) return std::nullopt;
  const Index first = spec.layers.front().layer.*field;
  for (const LayerRun& run : spec.layers) {
    if (run.layer.*field != first) return std::nullopt;
  }
  return first;
}

std::string cell(std::optional<Index> number) {
  return number ? fmt::format("{}", *number) : "-";
}

Json json_or_null(std::optional<Index> number) {
  return number ? Json(*number) : Json(nullptr);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string people_text(const SizeGrid& grid, bool markdown) {
  std::string text;
  const bool by_numbers = grid.shapes.front().facts.empty();
  if (!by_numbers) {
    const CacheSpec& spec = grid.shapes.front();
    text += or_dash(spec.model) + "\n";
    for (const std::string& line : layer_summary(spec)) text += fmt::format("  {}\n", line);
    for (const SpecFact& fact : spec.facts) {
      text += fmt::format("  {} {}, from: {}\n", fact.what, fact.value, fact.from);
    }
    text += "\n";
  }
  std::vector<Table::Column> columns;
  if (by_numbers) columns = {{"layers"}, {"kv heads"}, {"head dim"}};
  for (const char* name : {"tokens", "batch", "type", "keys", "values", "a token"}) {
    columns.push_back({name});
  }
  columns.push_back({"cache", Table::Align::kLeft});
  Table table(columns);
  for (const SizeRow& row : grid.rows) {
    const CacheSpec& spec = shape_of(grid, row);
    std::vector<std::string> cells;
    if (by_numbers) {
      cells = {fmt::format("{}", spec.layer_count()), cell(common(spec, &LayerCache::kv_heads)),
               cell(common(spec, &LayerCache::key_dim))};
    }
    for (const std::string& text_cell :
         {grouped(row.tokens), grouped(row.batch), row.type->name, short_size_text(row.bytes.keys),
          short_size_text(row.bytes.values), short_size_text(row.token_bytes),
          size_text(row.bytes.total)}) {
      cells.push_back(text_cell);
    }
    table.add(std::move(cells));
  }
  return text + (markdown ? table.markdown() : table.text());
}

Table program_table(const SizeGrid& grid) {
  Table table({{"model"},
               {"layers"},
               {"kv_heads"},
               {"head_dim"},
               {"tokens"},
               {"batch"},
               {"cache_dtype"},
               {"bytes"},
               {"k_bytes"},
               {"v_bytes"},
               {"state_bytes"},
               {"token_bytes"}});
  for (const SizeRow& row : grid.rows) {
    const CacheSpec& spec = shape_of(grid, row);
    table.add({or_dash(spec.model), fmt::format("{}", spec.layer_count()),
               cell(common(spec, &LayerCache::kv_heads)), cell(common(spec, &LayerCache::key_dim)),
               fmt::format("{}", row.tokens), fmt::format("{}", row.batch), row.type->name,
               fmt::format("{}", row.bytes.total), fmt::format("{}", row.bytes.keys),
               fmt::format("{}", row.bytes.values), "0", fmt::format("{}", row.token_bytes)});
  }
  return table;
}

Json json_layers(const CacheSpec& spec) {
  Json layers = Json::array();
  for (const LayerRun& run : spec.layers) {
    const bool window = run.layer.keeps == LayerCache::Keeps::kLastTokens;
    layers.push_back({{"count", run.count},
                      {"window", window ? Json(run.layer.window) : Json(nullptr)},
                      {"kv_heads", run.layer.kv_heads},
                      {"key_dim", run.layer.key_dim},
                      {"value_dim", run.layer.value_dim}});
  }
  return layers;
}

std::string json_report(const SizeGrid& grid) {
  Json results = Json::array();
  for (const SizeRow& row : grid.rows) {
    const CacheSpec& spec = shape_of(grid, row);
    results.push_back({{"model", spec.model.empty() ? Json(nullptr) : Json(spec.model)},
                       {"layers", spec.layer_count()},
                       {"kv_heads", json_or_null(common(spec, &LayerCache::kv_heads))},
                       {"head_dim", json_or_null(common(spec, &LayerCache::key_dim))},
                       {"tokens", row.tokens},
                       {"batch", row.batch},
                       {"cache_dtype", row.type->name},
                       {"bytes", row.bytes.total},
                       {"k_bytes", row.bytes.keys},
                       {"v_bytes", row.bytes.values},
                       {"state_bytes", 0},
                       {"token_bytes", row.token_bytes},
                       {"text", size_text(row.bytes.total)}});
  }
  Json document = {{"results", std::move(results)}};
  const CacheSpec& first = grid.shapes.front();
  if (!first.facts.empty()) {
    document["layers"] = json_layers(first);
    Json facts = Json::array();
    for (const SpecFact& fact : first.facts) {
      facts.push_back({{"what", fact.what}, {"value", fact.value}, {"from", fact.from}});
    }
    document["facts"] = std::move(facts);
  }
  return cli::json_text(document);
}

}  // namespace

std::string size_report(const SizeGrid& grid, cli::Format format) {
  switch (format) {
    case cli::Format::kJson:
      return json_report(grid);
    case cli::Format::kTsv:
      return program_table(grid).tsv();
    case cli::Format::kCsv:
      return program_table(grid).csv();
    default:
      return people_text(grid, format == cli::Format::kMarkdown);
  }
}

std::string size_picture(const SizeGrid& grid, const cli::Terminal& terminal) {
  constexpr std::size_t kMostCurves = 5;
  cli::Chart chart{.title = "bytes of the cache against tokens, both logarithmic",
                   .x_is = "tokens",
                   .y_is = "bytes",
                   .log_x = true,
                   .log_y = true,
                   .y_tick = [](double bytes) {
                     return short_size_text(static_cast<Index>(std::round(bytes)));
                   }};
  for (const SizeRow& row : grid.rows) {
    const CacheSpec& spec = shape_of(grid, row);
    const std::string label =
        grid.shapes.size() == 1
            ? fmt::format("{} x {}", row.batch, row.type->name)
            : fmt::format("{} x {} x {} x {} {}", row.batch, spec.layer_count(),
                          cell(common(spec, &LayerCache::kv_heads)),
                          cell(common(spec, &LayerCache::key_dim)), row.type->name);
    auto curve = std::find_if(chart.curves.begin(), chart.curves.end(),
                              [&](const cli::Curve& one) { return one.label == label; });
    if (curve == chart.curves.end()) {
      if (chart.curves.size() == kMostCurves) continue;
      curve = chart.curves.insert(curve, cli::Curve{.label = label});
    }
    curve->x.push_back(static_cast<double>(row.tokens));
    curve->y.push_back(static_cast<double>(row.bytes.total));
  }
  return cli::chart(chart, terminal);
}

}  // namespace attn
