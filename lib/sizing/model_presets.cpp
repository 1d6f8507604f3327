#include "sizing/model_presets.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "sizing/hf_config.h"
#include "sizing/preset_files.h"

namespace attn {
namespace {

ModelPreset parsed(std::string_view text) {
  const auto document = nlohmann::json::parse(text);
  ModelPreset preset;
  preset.name = document.at("name");
  preset.source = document.at("source");
  preset.spec = hf_cache_spec(document.at("config").dump(), preset.name);
  preset.spec.model = preset.name;
  return preset;
}

std::string lower(std::string_view text) {
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return word;
}

}  // namespace

std::vector<ModelPreset> model_presets() {
  std::vector<ModelPreset> presets;
  for (const std::string_view text : preset_files()) presets.push_back(parsed(text));
  std::sort(presets.begin(), presets.end(),
            [](const ModelPreset& a, const ModelPreset& b) { return a.name < b.name; });
  return presets;
}

ModelPreset model_preset(std::string_view name) {
  std::vector<std::string> known;
  for (ModelPreset& preset : model_presets()) {
    if (preset.name == lower(name)) return std::move(preset);
    known.push_back(preset.name);
  }
  std::vector<std::string> hints;
  const std::string near = nearest_word(lower(name), known);
  if (!near.empty()) hints.push_back(fmt::format("did you mean '{}'?", near));
  hints.emplace_back("--list-models names those that are known; --config reads any other");
  throw UsageError(fmt::format("--model: unknown model '{}'", escaped(name)), hints);
}

}  // namespace attn
