#include "sizing/config_reader.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

constexpr Index kLargestCount = Index{1} << 40;

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
                  {"state the shape instead: --layers N --kv-heads N --head-dim N",
                   "or, where it is like a known family, --assume FAMILY (such as llama)"});
}

bool ConfigReader::is_null(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && found->is_null();
}

bool ConfigReader::is_list(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && found->is_array();
}

bool ConfigReader::is_object(const char* key) const {
  const auto found = object_->find(key);
  return found != object_->end() && found->is_object();
}

std::optional<Index> ConfigReader::number_if_any(const char* key) const {
  const auto found = object_->find(key);
  if (found == object_->end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return found->get<Index>();
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

std::optional<Index> ConfigReader::count(Keys keys, const char* what) {
  for (const char* key : keys) {
    const auto value = number(key);
    if (!value) continue;
    if (*value < 1) refuse(fmt::format("'{}' must be 1 or more: {}", key, *value));
    if (*value > kLargestCount) {
      refuse(fmt::format("'{}' must be at most {}: {}", key, kLargestCount, *value));
    }
    note(what, *value, key);
    return value;
  }
  return std::nullopt;
}

Index ConfigReader::count_or(Keys keys, const char* what, Fallback fallback) {
  const auto value = count(keys, what);
  if (value) return *value;
  if (fallback.value < 1) {
    refuse(fmt::format("says nothing about {} (no '{}')", what, *keys.begin()));
  }
  for (const char* key : keys) {
    if (is_null(key) && !fallback.for_null) {
      refuse(fmt::format("'{}' is null, which is not the default of {}", key, fallback.from));
    }
  }
  note(what, fallback.value, fmt::format("default of {}", fallback.from));
  return fallback.value;
}

Index ConfigReader::required_count(Keys keys, const char* what) {
  return count_or(keys, what, {});
}

void ConfigReader::require_same(Keys keys) {
  const char* first = nullptr;
  for (const char* key : keys) {
    if (!has(key) || is_list(key)) continue;
    if (first == nullptr) {
      first = key;
    } else if (*number(key) != *number(first)) {
      refuse(fmt::format("'{}' is {} and '{}' is {}: which counts is not known", first,
                         *number(first), key, *number(key)));
    }
  }
}

std::optional<double> ConfigReader::factor(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : 0.0;
  if (!(number > 0.0) || !std::isfinite(number)) {
    refuse(fmt::format("'{}' must be a number above 0: {}", key, shown(*value)));
  }
  return number;
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

std::optional<std::string> ConfigReader::letters(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  if (value->get_ref<const std::string&>().empty()) refuse(fmt::format("'{}' is empty", key));
  return value->get<std::string>();
}

std::optional<std::vector<std::string>> ConfigReader::words(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> all;
  bool good = value->is_array();
  for (std::size_t i = 0; good && i < value->size(); ++i) {
    good = (*value)[i].is_string();
    if (good) all.push_back((*value)[i].get<std::string>());
  }
  if (!good) refuse(fmt::format("'{}' must be a list of words: {}", key, shown(*value)));
  return all;
}

std::vector<std::string> ConfigReader::repeated_words(const char* key) {
  constexpr std::size_t kMostWords = 1'000'000;
  const nlohmann::json* value = find(key);
  std::vector<std::string> all;
  const auto wrong = [&] {
    refuse(fmt::format("'{}' must be lists of words, each with how often it is repeated", key));
  };
  if (value == nullptr || !value->is_array()) wrong();
  for (const auto& entry : *value) {
    const bool pair = entry.is_array() && entry.size() == 2 && entry[0].is_array() &&
                      entry[1].is_number_unsigned();
    if (!pair) wrong();
    const auto times = entry[1].get<std::uint64_t>();
    if (times > kMostWords || all.size() + times * entry[0].size() > kMostWords) wrong();
    for (std::uint64_t i = 0; i < times; ++i) {
      for (const auto& word : entry[0]) {
        if (!word.is_string()) wrong();
        all.push_back(word.get<std::string>());
      }
    }
  }
  return all;
}

std::optional<std::vector<Index>> ConfigReader::numbers(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<Index> all;
  bool good = value->is_array();
  for (std::size_t i = 0; good && i < value->size(); ++i) {
    const auto& element = (*value)[i];
    const bool fits = element.is_number_integer() &&
                      (!element.is_number_unsigned() || element.get<std::uint64_t>() <= INT64_MAX);
    good = element.is_null() || (fits && element.get<Index>() >= 0);
    if (good) all.push_back(element.is_null() ? 0 : element.get<Index>());
  }
  if (!good) refuse(fmt::format("'{}' must be a list of whole numbers: {}", key, shown(*value)));
  return all;
}

std::optional<std::vector<ConfigReader>> ConfigReader::objects(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) refuse(fmt::format("'{}' must be a list: {}", key, shown(*value)));
  std::vector<ConfigReader> all;
  for (std::size_t i = 0; i < value->size(); ++i) {
    all.emplace_back((*value)[i], fmt::format("{}: {}[{}]", name_, key, i));
  }
  return all;
}

std::optional<ConfigReader> ConfigReader::object(const char* key) {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return ConfigReader(*value, fmt::format("{}: {}", name_, key));
}

std::optional<std::string> ConfigReader::unread(Keys keys) const {
  for (const char* key : keys) {
    if (!has(key) || read_.contains(key)) continue;
    const nlohmann::json& value = object_->at(key);
    if (value.is_boolean() && !value.get<bool>()) continue;
    return key;
  }
  return std::nullopt;
}

Index ConfigReader::product(std::initializer_list<Index> factors) const {
  constexpr Index kLargest = Index{1} << 50;
  const auto value = checked_product(std::span(factors.begin(), factors.size()));
  if (!value || *value > kLargest) refuse("its counts are larger than those of any model");
  return *value;
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
