#include "model/import/hf_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "io/json_text.h"
#include "model/import/hf_keys.h"
#include "model/rope_config.h"

namespace attn {
namespace {

using Json = nlohmann::json;

// Larger than any count of a model that fits a machine, small enough that products can be counted.
constexpr Index kLargestCount = Index{1} << 24;

// The object read by key, which remembers what was read. A null is the same as a missing key.
class Keys {
 public:
  Keys(const Json& object, std::string name) : object_(object), name_(std::move(name)) {}

  const Json* find(const char* key) {
    read_.insert(key);
    const auto at = object_.find(key);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  std::optional<Index> count(const char* key, Index lowest = 1) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    const bool fits = value->is_number_unsigned() &&
                      value->get<std::uint64_t>() <= static_cast<std::uint64_t>(kLargestCount) &&
                      value->get<Index>() >= lowest;
    if (!fits) {
      refuse(key, fmt::format("must be a whole number from {} to {}", lowest, kLargestCount));
    }
    return value->get<Index>();
  }
  std::optional<double> positive(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() <= 0) {
      refuse(key, "must be a number above 0");
    }
    return value->get<double>();
  }
  std::optional<bool> flag(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) refuse(key, "must be true or false");
    return value->get<bool>();
  }
  std::optional<std::string> text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string()) refuse(key, "must be a text");
    return value->get<std::string>();
  }
  bool was_read(const std::string& key) const { return read_.count(key) == 1; }

  [[noreturn]] void refuse(const char* key, const std::string& what) {
    const Json* value = find(key);
    fail(fmt::format(
        "{} {}, it is {}", key, what,
        value == nullptr
            ? "missing"
            : escaped(value->dump(-1, ' ', false, Json::error_handler_t::replace), 60)));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("{}: {}", name_, what));
  }

 private:
  const Json& object_;
  std::string name_;
  std::set<std::string> read_;
};

const HfFamily& family_of(Keys& keys) {
  const auto type = keys.text("model_type");
  if (!type) keys.fail("lacks model_type, the family of the model");
  const HfFamily* family = find_hf_family(*type);
  if (family != nullptr) return *family;
  std::string known;
  for (const HfFamily& one : hf_families()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one.model_type);
  }
  keys.fail(
      fmt::format("model_type '{}' is not supported; supported are {}", escaped(*type), known));
}

void read_counts(Keys& keys, const HfFamily& family, ModelConfig& c) {
  for (const HfCount& count : family.counts) {
    const auto value = keys.count(count.key);
    if (!value && !count.optional) keys.refuse(count.key, "must be given");
    c.*count.field = value.value_or(0);
  }
  // In the file's words, what ModelConfig::validate would refuse in those of options.
  const auto key = [&](Index ModelConfig::*field) {
    for (const HfCount& count : family.counts) {
      if (count.field == field) return count.key;
    }
    return "";
  };
  const char* heads = key(&ModelConfig::heads);
  if (c.head_dim == 0 && c.dim % c.heads != 0) {
    keys.fail(
        fmt::format("{} {} does not divide {} {}", heads, c.heads, key(&ModelConfig::dim), c.dim));
  }
  if (c.kv_heads > 0 && c.heads % c.kv_heads != 0) {
    keys.fail(fmt::format("{} {} does not divide {} {}", key(&ModelConfig::kv_heads), c.kv_heads,
                          heads, c.heads));
  }
}

void read_activation(Keys& keys, const HfFamily& family, ModelConfig& c) {
  const std::string word =
      keys.text(family.activation_key).value_or(std::string(family.activations.front().word));
  for (const HfActivation& known : family.activations) {
    if (known.word == word) {
      c.activation = known.activation;
      return;
    }
  }
  std::string known;
  for (const HfActivation& one : family.activations) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one.word);
  }
  keys.fail(fmt::format("{} '{}' is not supported; supported are {}", family.activation_key,
                        escaped(word), known));
}

void read_biases(Keys& keys, const HfFamily& family, ModelConfig& c) {
  c.bias = c.out_bias.emplace(c.mlp_bias.emplace(false));
  switch (family.biases) {
    case HfBiases::kAll:
      c.bias = c.out_bias.emplace(c.mlp_bias.emplace(true));
      break;
    case HfBiases::kByKeys:
      c.bias = c.out_bias.emplace(keys.flag("attention_bias").value_or(false));
      c.mlp_bias = keys.flag("mlp_bias").value_or(false);
      break;
    case HfBiases::kNone:
      break;
    case HfBiases::kQkv:
      c.bias = true;
  }
  c.head_bias = false;
}

// A scaling of no type says nothing, and Llama 3's means nothing without its numbers: its readers
// have no defaults for them.
void check_rope_scaling(Keys& keys) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const Json* found = keys.find(key);
    if (found == nullptr || !found->is_object()) continue;
    Keys rope(*found, key);
    const char* word = rope.find("rope_type") != nullptr ? "rope_type" : "type";
    if (const Json* value = rope.find(word); value != nullptr && !value->is_string()) {
      keys.fail(fmt::format("{}: {} must be a text", key, word));
    }
    const auto type = rope.text(word);
    if (!type && rope.find("factor") != nullptr) {
      keys.fail(fmt::format("{} has a factor and no rope_type", key));
    }
    if (type != "llama3") return;
    for (const char* number :
         {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
      try {
        if (!rope.positive(number)) rope.refuse(number, "must be given");
      } catch (const DataError& error) {
        keys.fail(error.what());
      }
    }
    return;
  }
}

// What rope_config reads; in a family without rope these keys are strange.
void know_rope_keys(Keys& keys) {
  for (const char* key : {"rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor",
                          "rope_interleave"}) {
    keys.find(key);
  }
}

void read_rope(Keys& keys, const Json& object, const std::string& name, ModelConfig& c) {
  if (c.head_dim > 0 && c.head_dim % 2 != 0) {
    keys.fail(fmt::format("head_dim {} is odd: rope turns pairs", c.head_dim));
  }
  keys.positive("rope_theta");
  check_rope_scaling(keys);
  const RopeConfig rope = rope_config(object, name);
  if (rope.rotary_dim != rope.head_dim) {
    keys.fail(fmt::format("partial_rotary_factor: only {} of {} features turn, which is not built",
                          rope.rotary_dim, rope.head_dim));
  }
  if (rope.pairs != RopePairs::kHalves) keys.fail("rope_interleave is not built in this family");
  c.rope_base = rope.theta;
  c.rope_style = rope.pairs;
  c.rope_scaling = rope.scaling;
}

// One id, a list of them, or nothing. An id outside the vocabulary ends and fills nothing.
std::vector<Index> token_ids(Keys& keys, const char* key, Index vocab_size) {
  const Json* value = keys.find(key);
  if (value == nullptr) return {};
  const auto is_id = [](const Json& one) { return one.is_number_integer(); };
  std::vector<Index> ids;
  if (is_id(*value)) {
    ids.push_back(value->get<Index>());
  } else if (value->is_array() && std::all_of(value->begin(), value->end(), is_id)) {
    for (const Json& one : *value) ids.push_back(one.get<Index>());
  } else {
    keys.refuse(key, "must be a token's id or a list of them");
  }
  std::erase_if(ids, [&](Index id) { return id < 0 || id >= vocab_size; });
  return ids;
}

void read_specials(Keys& keys, HfConfig& config) {
  const Index vocab_size = config.model.vocab_size;
  const std::vector<Index> ends = token_ids(keys, "eos_token_id", vocab_size);
  if (!ends.empty()) {
    config.ends = ends;
    config.specials.eos = ends.front();
  }
  const std::vector<Index> begins = token_ids(keys, "bos_token_id", vocab_size);
  if (!begins.empty()) config.bos = begins.front();
  const std::vector<Index> pads = token_ids(keys, "pad_token_id", vocab_size);
  if (!pads.empty()) config.specials.pad = pads.front();
}

// What nobody has read must not matter.
void refuse_what_is_not_built(Keys& keys, const Json& object, const HfFamily& family,
                              HfConfig& config) {
  for (const HfFixed& fixed : family.fixed) {
    if (keys.flag(fixed.key).value_or(fixed.value) != fixed.value) {
      keys.fail(fmt::format("{} {} changes the mathematics in a way that is not supported",
                            fixed.key, !fixed.value));
    }
  }
  // A window that is switched off may say its width all the same, but for a class without a switch.
  const auto window = object.find("use_sliding_window");
  const bool off =
      keys.was_read("use_sliding_window") || (window != object.end() && *window == false);
  const bool no_window = off && !family.has_window;
  for (const auto& [key, value] : object.items()) {
    if (keys.was_read(key) || is_harmless_hf_key(key) || is_off(value)) continue;
    if (key == "sliding_window" && no_window) continue;
    if (sounds_like_mathematics(key)) {
      keys.fail(
          fmt::format("{} {} may change the mathematics and is not supported", escaped(key, 60),
                      escaped(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60)));
    }
    config.unknown.push_back(key);
  }
}

}  // namespace

HfConfig read_hf_config(std::string_view text, const std::string& name) {
  const Json object = parse_json_object(text, name);
  Keys keys(object, name);
  HfConfig config;
  config.family = &family_of(keys);
  const HfFamily& family = *config.family;
  ModelConfig& c = config.model;
  c.position = family.position;
  c.norm_type = family.norm_type;
  read_counts(keys, family, c);
  c.norm_eps = keys.positive(family.eps_key).value_or(family.usual_eps);
  read_activation(keys, family, c);
  read_biases(keys, family, c);
  config.tied = keys.flag("tie_word_embeddings");
  read_specials(keys, config);
  if (c.position == Position::kRope) know_rope_keys(keys);
  refuse_what_is_not_built(keys, object, family, config);
  if (c.position == Position::kRope) {
    read_rope(keys, object, name, c);
  } else {
    c.seq_len = c.max_positions;
  }
  c = c.completed();
  try {
    c.validate();
    count_parameters(c);
  } catch (const UsageError& error) {
    keys.fail(error.what());
  }
  return config;
}

void read_generation_config(std::string_view text, const std::string& name, HfConfig& config) {
  const Json object = parse_json_object(text, name);
  Keys keys(object, name);
  read_specials(keys, config);
}

}  // namespace attn
