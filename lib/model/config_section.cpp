#include "model/config_section.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace attn {
namespace {

// Larger than any model's, small enough to be exact in double.
constexpr double kLargestCount = 1e12;

}  // namespace

ConfigSection::ConfigSection(const nlohmann::json& object, std::string name)
    : object_(object), name_(std::move(name)) {}

const nlohmann::json* ConfigSection::find(std::string_view key) const {
  const auto at = object_.find(key);
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

std::optional<double> ConfigSection::real(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<double>())) refuse(key, "a number");
  return value->get<double>();
}

std::optional<Index> ConfigSection::count(std::string_view key) const {
  const std::optional<double> value = real(key);
  if (!value) return std::nullopt;
  if (*value < 1 || *value > kLargestCount || *value != std::floor(*value)) {
    refuse(key, "a count of 1 or more");
  }
  return static_cast<Index>(*value);
}

std::optional<Index> ConfigSection::count(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (const auto value = count(key)) return value;
  }
  return std::nullopt;
}

std::optional<bool> ConfigSection::flag(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

std::optional<std::string> ConfigSection::text(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(key, "a text");
  return value->get<std::string>();
}

std::vector<double> ConfigSection::reals(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return {};
  std::vector<double> numbers;
  if (!value->is_array()) refuse(key, "a list of numbers");
  for (const nlohmann::json& each : *value) {
    if (!each.is_number()) refuse(key, "a list of numbers");
    numbers.push_back(each.get<double>());
  }
  return numbers;
}

void ConfigSection::refuse(std::string_view key, const char* wanted) const {
  fail(fmt::format("{} must be {}, it is {}", key, wanted, escaped(find(key)->dump(), 60)));
}

void ConfigSection::fail(const std::string& what) const {
  throw DataError(fmt::format("{}: {}", name_, what));
}

}  // namespace attn
