#include "sizing/known_models.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "sizing/hf_config.h"
#include "sizing/preset_files.h"

namespace attn {
namespace {

KnownModel parsed(std::string_view text) {
  const auto document = nlohmann::json::parse(text);
  KnownModel model;
  model.name = document.at("name");
  model.source = document.at("source");
  model.spec = hf_cache_spec(document.at("config").dump(), model.name);
  model.spec.model = model.name;
  return model;
}

std::string lower(std::string_view text) {
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return word;
}

}  // namespace

std::vector<KnownModel> known_models() {
  std::vector<KnownModel> models;
  for (const std::string_view text : preset_files()) models.push_back(parsed(text));
  std::sort(models.begin(), models.end(),
            [](const KnownModel& a, const KnownModel& b) { return a.name < b.name; });
  return models;
}

KnownModel known_model(std::string_view name) {
  std::vector<std::string> known;
  for (KnownModel& model : known_models()) {
    if (model.name == lower(name)) return std::move(model);
    known.push_back(model.name);
  }
  std::vector<std::string> hints;
  const std::string near = nearest_word(lower(name), known);
  if (!near.empty()) hints.push_back(fmt::format("did you mean '{}'?", near));
  hints.emplace_back("--list-models names those that are known; --config reads any other");
  throw UsageError(fmt::format("--model: unknown model '{}'", escaped(name)), hints);
}

}  // namespace attn
