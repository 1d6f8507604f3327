// kvcache-size: bytes that cached keys and values occupy.
//   kvcache-size --layers 32 --kv-heads 32,8,1 --head-dim 128 --tokens 4096
//   kvcache-size --model llama-3.1-8b --tokens 1Ki-128Ki*2 --show
//   kvcache-size --config config.json --tokens 32Ki --cache-dtype f16,q8_0 --json
//   kvcache-size -i model.h5 --tokens 12

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "cli/json.h"
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
#include "kvcache-size-report.h"
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
            for (const std::string_view name : split(text, ',')) {
              o.types.push_back(&cache_type(name, "--cache-dtype"));
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
  table.check([&table, &o] {
    if (!o.list_models) return;
    for (const char* other : {"layers", "kv-heads", "head-dim", "input", "config", "model",
                              "tokens", "batch", "cache-dtype", "output", "show"}) {
      if (table.given(other)) {
        throw UsageError(fmt::format("--list-models and --{} do not go together", other));
      }
    }
  });
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

// No path goes into a file: the same command must write the same bytes anywhere.
std::string base_name(const std::string& path) {
  return escaped(std::filesystem::path(path).filename().string());
}

std::vector<CacheSpec> shapes(const Options& o) {
  if (!o.model.empty()) return {model_preset(o.model).spec};
  if (!o.config.empty()) {
    constexpr Index kLargestConfig = Index{64} << 20;
    const ByteSource source = ByteSource::open(o.config, std::min(o.max_bytes, kLargestConfig));
    CacheSpec spec = hf_cache_spec(as_text(source.bytes()), source.name());
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

void list_models(cli::Format format, cli::Report& report) {
  Table table({{"model", Table::Align::kLeft},
               {"layers", Table::Align::kLeft},
               {"facts from", Table::Align::kLeft}});
  cli::Json models = cli::Json::array();
  for (const ModelPreset& preset : model_presets()) {
    std::string layers;
    for (const std::string& line : layer_summary(preset.spec)) {
      if (!layers.empty()) layers += "; ";
      layers += line;
    }
    table.add({preset.name, layers, preset.source});
    models.push_back({{"model", preset.name}, {"layers", layers}, {"facts_from", preset.source}});
  }
  switch (format) {
    case cli::Format::kJson:
      report.write(cli::json_text({{"models", std::move(models)}}));
      break;
    case cli::Format::kTsv:
      report.write(table.tsv());
      break;
    case cli::Format::kCsv:
      report.write(table.csv());
      break;
    case cli::Format::kMarkdown:
      report.write(table.markdown());
      break;
    default:
      report.write(table.text());
  }
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
    list_models(o.format, session.report());
    return cli::kDone;
  }
  check_options(o);
  const SizeGrid grid = sized(o);
  // The file first: where it cannot be written, nothing is reported.
  if (!o.output.empty()) write_file(o, grid, session.history());
  if (session.report().wanted()) {
    cli::Report& report = session.report();
    report.write(size_report(grid, o.format));
    if (o.show) report.print("\n{}", size_picture(grid, session.terminal()));
  }
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
