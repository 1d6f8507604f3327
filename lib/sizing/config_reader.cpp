#include "sizing/config_reader.h"

#include <fmt/core.h>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

std::string shown(const nlohmann::json& value) {
  // dump() is recursive, and nesting costs a writer one byte a level.
  if (value.is_structured()) return fmt::format("an {}", value.type_name());
  return escaped(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 40);
}

}  // namespace

ConfigReader::ConfigReader(const nlohmann::json& object, std::string name)
    : object_(&object), name_(std::move(name)) {
  if (!object.is_object()) {
    throw DataError(fmt::format("{}: wanted a JSON object, found {}", name_, shown(object)));
  }
}

const nlohmann::json* ConfigReader::find(const char* key) {
  read_.insert(key);
  return has(key) ? &object_->at(key) : nullptr;
}

bool ConfigReader::has(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && !found->is_null();
}

void ConfigReader::refuse(const std::string& why) const {
  throw DataError(fmt::format("{}: {}", name_, why),
                  {"state the shape instead: --layers N --kv-heads N --head-dim N"});
}

std::optional<Index> ConfigReader::number(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<std::uint64_t>() <= INT64_MAX);
  if (!fits || value->get<Index>() < 0) {
    refuse(fmt::format("'{}' must be a whole number: {}", key, shown(*value)));
  }
  return value->get<Index>();
}

std::optional<Index> ConfigReader::count(std::initializer_list<const char*> keys,
                                         const char* what) {
  for (const char* key : keys) {
    const auto value = number(key);
    if (!value) continue;
    if (*value < 1) refuse(fmt::format("'{}' must be 1 or more: {}", key, *value));
    note(what, *value, key);
    return value;
  }
  return std::nullopt;
}

Index ConfigReader::required_count(std::initializer_list<const char*> keys, const char* what) {
  const auto value = count(keys, what);
  if (!value) refuse(fmt::format("says nothing about {} (no '{}')", what, *keys.begin()));
  return *value;
}

std::optional<bool> ConfigReader::flag(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    refuse(fmt::format("'{}' must be true or false: {}", key, shown(*value)));
  }
  return value->get<bool>();
}

std::optional<std::string> ConfigReader::text(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(fmt::format("'{}' must be a text: {}", key, shown(*value)));
  return value->get<std::string>();
}

std::optional<std::vector<std::string>> ConfigReader::words(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> all;
  bool good = value->is_array();
  for (const auto& element : *value) {
    good = good && element.is_string();
    if (good) all.push_back(element.get<std::string>());
  }
  if (!good) refuse(fmt::format("'{}' must be a list of words: {}", key, shown(*value)));
  return all;
}

std::optional<ConfigReader> ConfigReader::object(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return ConfigReader(*value, fmt::format("{}: {}", name_, key));
}

std::optional<std::string> ConfigReader::unread(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    if (!has(key) || read_.contains(key)) continue;
    const nlohmann::json& value = object_->at(key);
    if (value.is_boolean() && !value.get<bool>()) continue;
    return key;
  }
  return std::nullopt;
}

void ConfigReader::note(std::string what, Index value, std::string from) {
  // What is learned later is known better.
  for (SpecFact& fact : facts_) {
    if (fact.what != what) continue;
    fact = {std::move(what), value, std::move(from)};
    return;
  }
  facts_.push_back({std::move(what), value, std::move(from)});
}

}  // namespace attn
