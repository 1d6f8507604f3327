// kvcache-size: bytes that cached keys and values occupy.
//   kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens 4096
//   kvcache-size --model llama-3.1-8b --tokens 1Ki-128Ki*2 --show
//   kvcache-size --config config.json --tokens 32Ki --cache-dtype f16,q8_0 --json
//   kvcache-size -i model.h5 --tokens 12

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/json.h"
#include "cli/picture.h"
#include "cli/table.h"
#include "cli/tool.h"
#include "core/error.h"
#include "core/text.h"
#include "io/byte_source.h"
#include "io/hdf5_reader.h"
#include "io/hdf5_version.h"
#include "io/hdf5_writer.h"
#include "io/output.h"
#include "io/provenance.h"
#include "sizing/checkpoint_shape.h"
#include "sizing/hf_config.h"
#include "sizing/model_presets.h"
#include "sizing/size_grid.h"
#include "sizing/size_grid_file.h"

namespace {

using namespace attn;
using cli::Table;

struct Options {
  ShapeAxes axes;
  std::vector<Index> tokens;
  std::vector<Index> batches = {1};
  std::vector<const CacheType*> types;
  std::string input;
  std::string config;
  std::string model;
  bool list_models = false;
  std::string output;
  cli::Format format = cli::Format::kText;
  bool show = false;
  Index max_bytes = cli::kDefaultMaxBytes;
};

void declare(cli::OptionTable& table, Options& o) {
  table.group("Shape, by numbers (LIST: 32,8,1 or 1-8 or 16-64+16 or 1Ki-128Ki*2)");
  table.counts("layers", o.axes.layers, "layers that own a cache").letter('l');
  table.counts("kv-heads", o.axes.kv_heads,
               "key-value heads: as many as query heads for "
               "multi-head, 1 for multi-query attention");
  table.counts("head-dim", o.axes.head_dims, "numbers of one head");
  table.group("Shape, from elsewhere");
  cli::input_option(table, o.input, "checkpoint (HDF5): its shape, and f32; - for stdin");
  table.input("config", o.config, "config.json of a Hugging Face model, - for stdin");
  table.text("model", o.model, "a model that is known").argument("NAME");
  table.flag("list-models", o.list_models, "name the models that are known").not_data();
  table.group("What is cached");
  table.counts("tokens", o.tokens, "tokens of each sequence: prompt and generated").letter('t');
  table.counts("batch", o.batches, "sequences at once").letter('b');
  table
      .custom(
          "cache-dtype", "LIST",
          [&o](std::string_view text) {
            o.types.clear();
            while (true) {
              const std::size_t comma = std::min(text.find(','), text.size());
              o.types.push_back(&cache_type(text.substr(0, comma), "--cache-dtype"));
              if (comma == text.size()) return;
              text.remove_prefix(comma + 1);
            }
          },
          fmt::format("how a number is stored: {}", fmt::join(cache_type_names(), ", ")))
      .default_is("f16; f32 with --input");
  table.group("Output");
  cli::output_option(table, o.output, "HDF5 file for the grid, - for stdout");
  cli::format_options(table, o.format,
                      {cli::Format::kText, cli::Format::kTsv, cli::Format::kCsv, cli::Format::kJson,
                       cli::Format::kMarkdown});
  cli::show_options(table, o.show, "draw bytes against tokens");
  cli::max_bytes_option(table, o.max_bytes);
}

void check_numbers(const ShapeAxes& axes) {
  if (axes.layers.empty()) throw UsageError("--layers is missing: how many layers own a cache");
  if (axes.kv_heads.empty()) {
    throw UsageError("--kv-heads is missing: as many as query heads unless they share keys");
  }
  if (axes.head_dims.empty()) {
    throw UsageError(
        "--head-dim is missing: it cannot be guessed from the width (some models do not use "
        "width / heads)");
  }
}

void check_options(const Options& o) {
  std::vector<std::string> sources;
  const bool by_numbers =
      !o.axes.layers.empty() || !o.axes.kv_heads.empty() || !o.axes.head_dims.empty();
  if (by_numbers) sources.emplace_back("--layers, --kv-heads, --head-dim");
  if (!o.input.empty()) sources.push_back(fmt::format("the checkpoint '{}'", escaped(o.input)));
  if (!o.config.empty()) sources.emplace_back("--config");
  if (!o.model.empty()) sources.emplace_back("--model");
  if (sources.size() > 1) {
    throw UsageError(fmt::format("{} and {} both give the shape", sources[0], sources[1]));
  }
  if (sources.empty()) {
    throw UsageError("no shape: give --layers, --kv-heads and --head-dim, or a file",
                     {"--model NAME, --config config.json and --input model.h5 have the shape"});
  }
  if (by_numbers) check_numbers(o.axes);
  if (o.tokens.empty()) {
    throw UsageError(fmt::format(
        "--tokens is missing: how many tokens of each sequence are cached{}",
        o.input.empty() ? "" : fmt::format(" with the shape of '{}'", escaped(o.input))));
  }
  if (o.show && o.tokens.size() < 2) {
    throw UsageError("--show draws bytes against tokens: give several --tokens",
                     {"such as --tokens 1Ki-128Ki*2"});
  }
}

std::string text_of(const ByteSource& source) {
  const auto bytes = source.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// No path goes into a file: the same command must write the same bytes anywhere.
std::string base_name(const std::string& path) {
  return escaped(std::filesystem::path(path).filename().string());
}

std::vector<CacheSpec> shapes(const Options& o) {
  if (!o.model.empty()) return {model_preset(o.model).spec};
  if (!o.config.empty()) {
    constexpr Index kLargestConfig = Index{64} << 20;
    const ByteSource source = ByteSource::open(o.config, std::min(o.max_bytes, kLargestConfig));
    CacheSpec spec = hf_cache_spec(text_of(source), source.name());
    spec.model = base_name(source.name());
    return {spec};
  }
  if (!o.input.empty()) {
    CacheSpec spec = checkpoint_shape(Hdf5Reader::open(o.input, {.max_bytes = o.max_bytes}));
    spec.model = base_name(o.input == "-" ? "stdin" : o.input);
    return {spec};
  }
  return shapes_of(o.axes);
}

SizeGrid sized(const Options& o) {
  SizeGrid grid;
  grid.shapes = shapes(o);
  grid.tokens = o.tokens;
  grid.batches = o.batches;
  grid.types = o.types;
  if (grid.types.empty()) {
    grid.types.push_back(&cache_type(o.input.empty() ? "f16" : "f32", "--cache-dtype"));
  }
  fill_rows(grid);
  return grid;
}

const CacheSpec& shape_of(const SizeGrid& grid, const SizeRow& row) {
  return grid.shapes[static_cast<std::size_t>(row.shape)];
}

// Key-value heads or features of a head, where all layers have the same.
std::string common(const CacheSpec& spec, Index LayerCache::*field) {
  for (const LayerRun& run : spec.layers) {
    if (run.layer.*field != spec.layers.front().layer.*field) return "";
  }
  return spec.layers.empty() ? "" : fmt::format("{}", spec.layers.front().layer.*field);
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
      cells = {fmt::format("{}", spec.layer_count()), common(spec, &LayerCache::kv_heads),
               common(spec, &LayerCache::key_dim)};
    }
    for (const std::string& cell :
         {grouped(row.tokens), grouped(row.batch), row.type->name, short_size_text(row.bytes.keys),
          short_size_text(row.bytes.values), short_size_text(row.token_bytes),
          size_text(row.bytes.total)}) {
      cells.push_back(cell);
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
               or_dash(common(spec, &LayerCache::kv_heads)),
               or_dash(common(spec, &LayerCache::key_dim)), fmt::format("{}", row.tokens),
               fmt::format("{}", row.batch), row.type->name, fmt::format("{}", row.bytes.total),
               fmt::format("{}", row.bytes.keys), fmt::format("{}", row.bytes.values), "0",
               fmt::format("{}", row.token_bytes)});
  }
  return table;
}

cli::Json json_layers(const CacheSpec& spec) {
  cli::Json layers = cli::Json::array();
  for (const LayerRun& run : spec.layers) {
    const bool window = run.layer.keeps == LayerCache::Keeps::kLastTokens;
    layers.push_back({{"count", run.count},
                      {"window", window ? cli::Json(run.layer.window) : cli::Json(nullptr)},
                      {"kv_heads", run.layer.kv_heads},
                      {"key_dim", run.layer.key_dim},
                      {"value_dim", run.layer.value_dim}});
  }
  return layers;
}

std::string json_report(const SizeGrid& grid) {
  const auto number_or_null = [](const std::string& digits) {
    return digits.empty() ? cli::Json(nullptr) : cli::Json::parse(digits);
  };
  cli::Json results = cli::Json::array();
  for (const SizeRow& row : grid.rows) {
    const CacheSpec& spec = shape_of(grid, row);
    results.push_back({{"model", spec.model.empty() ? cli::Json(nullptr) : cli::Json(spec.model)},
                       {"layers", spec.layer_count()},
                       {"kv_heads", number_or_null(common(spec, &LayerCache::kv_heads))},
                       {"head_dim", number_or_null(common(spec, &LayerCache::key_dim))},
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
  cli::Json document = {{"results", std::move(results)}};
  const CacheSpec& first = grid.shapes.front();
  if (!first.facts.empty()) {
    document["layers"] = json_layers(first);
    cli::Json facts = cli::Json::array();
    for (const SpecFact& fact : first.facts) {
      facts.push_back({{"what", fact.what}, {"value", fact.value}, {"from", fact.from}});
    }
    document["facts"] = std::move(facts);
  }
  return cli::json_text(document);
}

void list_models(cli::Report& report) {
  Table table({{"model", Table::Align::kLeft},
               {"layers", Table::Align::kLeft},
               {"facts from", Table::Align::kLeft}});
  for (const ModelPreset& preset : model_presets()) {
    std::string layers;
    for (const std::string& line : layer_summary(preset.spec)) {
      if (!layers.empty()) layers += "; ";
      layers += line;
    }
    table.add({preset.name, layers, preset.source});
  }
  report.write(table.text());
}

// One curve a combination of everything else, up to as many as can be told apart.
std::string picture(const SizeGrid& grid, const cli::Terminal& terminal) {
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
        grid.shapes.size() == 1 ? fmt::format("{} x {}", row.batch, row.type->name)
                                : fmt::format("{} x {} x {} x {} {}", row.batch, spec.layer_count(),
                                              common(spec, &LayerCache::kv_heads),
                                              common(spec, &LayerCache::key_dim), row.type->name);
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

void write_file(const Options& o, const SizeGrid& grid, const std::string& history) {
  Hdf5Writer writer;
  write_size_grid(writer, grid, o.axes);
  Provenance provenance;
  provenance.command = history;
  write_provenance(writer, provenance);
  write_output(o.output, writer.finish());
}

int run(const Options& o, cli::Session& session) {
  if (o.list_models) {
    list_models(session.report());
    return cli::kDone;
  }
  check_options(o);
  const SizeGrid grid = sized(o);
  if (session.report().wanted()) {
    cli::Report& report = session.report();
    switch (o.format) {
      case cli::Format::kJson:
        report.write(json_report(grid));
        break;
      case cli::Format::kTsv:
        report.write(program_table(grid).tsv());
        break;
      case cli::Format::kCsv:
        report.write(program_table(grid).csv());
        break;
      case cli::Format::kMarkdown:
        report.write(people_text(grid, true));
        break;
      default:
        report.write(people_text(grid, false));
    }
    if (o.show) report.print("\n{}", picture(grid, session.terminal()));
  }
  if (!o.output.empty()) write_file(o, grid, session.history());
  return cli::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::tool_main<Options>(
      {.name = "kvcache-size",
       .summary = "bytes that cached keys and values occupy",
       .usage = "[OPTIONS] [CHECKPOINT]",
       .examples = {{"kvcache-size --layers 24 --kv-heads 16 --head-dim 64 --tokens 2000",
                     "187.5 MiB (196,608,000 bytes) in 16 bits"},
                    {"kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens 4096",
                     "multi-head, grouped-query and multi-query attention: 2 GiB, a quarter, a "
                     "thirty-second"},
                    {"kvcache-size --model llama-3.1-8b --tokens 1Ki-128Ki*2 --show",
                     "how it grows"},
                    {"kvcache-size --config config.json --tokens 32Ki --cache-dtype f16,q8_0", ""}},
       .notes = "Bytes are the sum over the layers that own a cache of\n"
                "  tokens kept x kv heads x (numbers of a key + of a value) x bytes a number,\n"
                "times sequences. Layers with a sliding window keep at most the window.",
       .versions = [] { return std::vector<std::string>{hdf5_version()}; }},
      argc, argv, declare, run);
}
