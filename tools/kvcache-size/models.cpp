#include "kvcache-size/models.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "cli/json.h"
#include "cli/table.h"
#include "core/error.h"
#include "core/text.h"
#include "sizing/known_models.h"
#include "sizing/shape_file.h"

namespace attn {
namespace {

bool has_numbers(const ShapeAxes& axes) {
  return !axes.layers.empty() || !axes.kv_heads.empty() || !axes.head_dims.empty();
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

// The files of --config: a directory stands for its config.json, where it has one, else for the
// configurations in it and in the folders below.
std::vector<std::string> config_files(const std::vector<std::string>& named) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& name : named) {
    std::error_code ignored;
    if (name == "-" || !fs::is_directory(name, ignored)) {
      files.push_back(name);
      continue;
    }
    if (fs::is_regular_file(fs::path(name) / "config.json", ignored)) {
      files.push_back((fs::path(name) / "config.json").string());
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::directory_iterator(name, ignored)) {
      const fs::path& path = entry.path();
      if (path.extension() == ".json" && entry.is_regular_file(ignored)) {
        inside.push_back(path.string());
      } else if (fs::is_regular_file(path / "config.json", ignored)) {
        inside.push_back((path / "config.json").string());
      }
    }
    if (inside.empty()) throw DataError(fmt::format("{}: no configuration in it", escaped(name)));
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

}  // namespace

void check_models(const SizeOptions& o) {
  const bool by_numbers = has_numbers(o.axes);
  const bool by_name = !o.models.empty() || !o.configs.empty();
  std::vector<std::string> sources;
  if (by_numbers) sources.emplace_back("--layers, --kv-heads, --head-dim");
  if (!o.input.empty()) sources.push_back(fmt::format("the checkpoint '{}'", escaped(o.input)));
  if (by_name) sources.emplace_back(o.models.empty() ? "--config" : "--model");
  if (sources.size() > 1) {
    throw UsageError(fmt::format("{} and {} both give the shape", sources[0], sources[1]));
  }
  if (sources.empty()) {
    throw UsageError("no shape: give --layers, --kv-heads and --head-dim, or a file",
                     {"--model NAME, --config config.json and --input model.h5 have the shape"});
  }
  if (by_numbers) check_numbers(o.axes);
}

std::vector<CacheSpec> asked_models(const SizeOptions& o) {
  std::vector<CacheSpec> specs;
  if (has_numbers(o.axes)) specs = shapes_of(o.axes);
  for (const std::string& name : o.models) specs.push_back(known_model(name).spec);
  for (const std::string& file : config_files(o.configs)) {
    specs.push_back(read_shape_file(file, o.assume, o.max_bytes));
  }
  if (!o.input.empty()) specs.push_back(read_shape_file(o.input, o.assume, o.max_bytes));
  const bool transformers =
      o.policy.kind == Runtime::Kind::kTransformers || o.policy.kind == Runtime::Kind::kStatic;
  if (o.mla == "expanded" || (o.mla.empty() && transformers)) {
    for (CacheSpec& spec : specs) spec = expanded_latent(std::move(spec));
  }
  return specs;
}

Index list_models(cli::Format format, cli::Report& report) {
  using cli::Table;
  Table table({{"model", Table::Align::kLeft},
               {"layers", Table::Align::kLeft},
               {"facts from", Table::Align::kLeft}});
  cli::Json models = cli::Json::array();
  for (const KnownModel& preset : known_models()) {
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
  return std::ssize(known_models());
}

}  // namespace attn
