#include "model/import/import_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "model/import/move_tensor.h"

namespace attn {
namespace {

using Found = std::unordered_map<std::string, SafetensorsPlace>;  // by bare name

// "'a', 'b' and 3 more"; `more` are those that are not in the list. All of it, unless a stranger's
// file would make that pages.
std::string listed(const std::vector<std::string>& names, Index more) {
  constexpr std::size_t kMostBytes = 1500;
  constexpr std::size_t kLongest = 100;
  std::string text;
  std::size_t shown = 0;
  for (; shown < names.size() && text.size() < kMostBytes; ++shown) {
    text += fmt::format("{}'{}'", shown == 0 ? "" : ", ", escaped(names[shown], kLongest));
  }
  more += static_cast<Index>(names.size() - shown);
  if (more > 0) text += fmt::format(" and {} more", grouped(more));
  return text;
}

// The parameters that the files hold, by their names without the prefix.
Found parameters_of(const HfFamily& family, const SafetensorsFolder& files, ImportPlan& plan) {
  Found found;
  for (const SafetensorsPlace& place : files.tensors()) {
    const std::string bare(hf_bare_name(family, place.entry->name));
    if (is_hf_buffer(family, bare)) {
      plan.passed_over.push_back(place.entry->name);
    } else if (!found.emplace(bare, place).second) {
      throw DataError(fmt::format("{}: '{}' stands there twice, with and without '{}'",
                                  place.file->name(), escaped(bare), family.prefix));
    }
  }
  return found;
}

void check_shape(const SafetensorsPlace& place, const Shape& wanted) {
  const SafetensorsEntry& entry = *place.entry;
  if (entry.shape != wanted) {
    Shape turned = entry.shape;
    std::reverse(turned.begin(), turned.end());
    throw DataError(fmt::format(
        "{}: '{}': shape {}, the configuration wants {}{}", place.file->name(), escaped(entry.name),
        entry.shape.size() <= 8 ? shape_text(entry.shape) : "of many axes", shape_text(wanted),
        turned == wanted ? ", which is its transpose" : ""));
  }
  if (!entry.type || !is_floating(*entry.type)) {
    throw DataError(fmt::format("{}: '{}': wanted F32, F16, BF16 or F64, its dtype is {}",
                                place.file->name(), escaped(entry.name), entry.type_name));
  }
}

std::vector<float> numbers_of(const SafetensorsPlace& place) {
  std::vector<float> values(static_cast<std::size_t>(*checked_product(place.entry->shape)));
  place.file->read(*place.entry, values.data());
  return values;
}

// Whether the head is the embedding's table, which the weights decide where they can.
bool is_tied(const HfConfig& config, const Found& found, ImportPlan& plan) {
  const HfFamily& family = *config.family;
  const auto head = found.find(std::string(family.head));
  if (head == found.end()) return family.usually_tied || config.tied.value_or(false);
  const auto tokens = found.find(std::string(family.tensors.front().name));
  if (tokens == found.end()) return false;  // is missed by name
  const Shape wanted = {config.model.vocab_size, config.model.dim};
  check_shape(tokens->second, wanted);
  check_shape(head->second, wanted);
  const bool equal = numbers_of(head->second) == numbers_of(tokens->second);
  if (equal) {
    plan.passed_over.push_back(head->second.entry->name);
  } else if (config.tied.value_or(family.usually_tied)) {
    plan.notes.push_back(
        fmt::format("{} differs from {}: the model is not tied, whatever "
                    "tie_word_embeddings says",
                    family.head, family.tensors.front().name));
  }
  return equal;
}

}  // namespace

ImportPlan plan_import(const HfConfig& config, const SafetensorsFolder& files) {
  ImportPlan plan;
  plan.config = config;
  const HfFamily& family = *config.family;
  ModelConfig& c = plan.config.model;
  Found found = parameters_of(family, files, plan);
  c.tie_embeddings = is_tied(config, found, plan);
  if (c.tie_embeddings) found.erase(std::string(family.head));

  // More blocks than the files can hold are not even listed.
  const Index each = hf_tensors_per_block(family, c);
  ModelConfig listed_model = c;
  listed_model.depth = std::min(c.depth, static_cast<Index>(found.size()) / each + 1);
  std::vector<std::string> missing;
  for (HfMapping& mapping : hf_mappings(family, listed_model)) {
    const auto place = found.find(mapping.name);
    if (place == found.end()) {
      missing.push_back(mapping.name);
      continue;
    }
    plan.lines.push_back({place->second, std::move(mapping)});
    found.erase(place);
  }
  std::vector<std::string> unknown;
  for (const SafetensorsPlace& place : files.tensors()) {
    if (found.count(std::string(hf_bare_name(family, place.entry->name))) == 1) {
      unknown.push_back(place.entry->name);
    }
  }
  const Index unlisted = (c.depth - listed_model.depth) * each;
  if (!unknown.empty() || !missing.empty()) {
    std::string what;
    if (!unknown.empty()) what = "not understood: " + listed(unknown, 0);
    if (!missing.empty()) {
      what += fmt::format("{}missing: {}", unknown.empty() ? "" : "; ", listed(missing, unlisted));
      if (missing.back() == family.head) what += " (tie_word_embeddings does not tie it)";
    }
    throw DataError(fmt::format("{}: tensors {}", files.name(), what));
  }
  for (const ImportLine& line : plan.lines) check_shape(line.place, line.mapping.shape);
  return plan;
}

std::unique_ptr<Transformer<float>> import_model(const ImportPlan& plan) {
  // The numbers, and the checkpoint's image of them.
  constexpr double kBytesEach = 2.0 * sizeof(float);
  require_memory("the model",
                 kBytesEach * static_cast<double>(count_parameters(plan.config.model).total));
  auto model = std::make_unique<Transformer<float>>(plan.config.model);
  std::vector<float> stored;
  for (const ImportLine& line : plan.lines) {
    stored = numbers_of(line.place);
    move_tensor(line.mapping, stored.data(), model->params().values(), MoveTo::kOurs);
  }
  return model;
}

}  // namespace attn
