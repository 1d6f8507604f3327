#include <fmt/core.h>

#include <charconv>

#include "core/error.h"
#include "workload.h"

namespace attn {

Settings::Settings(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw UsageError(fmt::format("not key=value: {}", word));
    left_[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

std::string Settings::text(std::string_view key, std::string_view otherwise) {
  const auto found = left_.find(key);
  if (found == left_.end()) return std::string(otherwise);
  std::string value = found->second;
  left_.erase(found);
  return value;
}

Index Settings::number(std::string_view key, Index otherwise) {
  const std::string value = text(key, std::to_string(otherwise));
  Index number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  if (read.ec != std::errc{} || read.ptr != value.data() + value.size()) {
    throw UsageError(fmt::format("{} wants a number: {}", key, value));
  }
  return number;
}

void Settings::require_all_read() const {
  if (!left_.empty()) throw UsageError(fmt::format("no such setting: {}", left_.begin()->first));
}

}  // namespace attn
