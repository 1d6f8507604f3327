#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"

namespace attn {

/// One object of a config.json, read by key; a null is the same as a missing key. All complaints
/// are DataErrors that name the file and the key. The object must outlive this.
class ConfigSection {
 public:
  /// `name` is what messages call the file.
  ConfigSection(const nlohmann::json& object, std::string name);

  /// Null where there is no such key, or it says null.
  const nlohmann::json* find(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;
  /// A whole number of 1 or more.
  std::optional<Index> count(std::string_view key) const;
  /// The first of the keys that is there.
  std::optional<Index> count(std::initializer_list<std::string_view> keys) const;
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  /// A list of numbers; empty where there is none.
  std::vector<double> reals(std::string_view key) const;

  /// "config.json: rope_theta must be a number, it is "big""
  [[noreturn]] void refuse(std::string_view key, const char* wanted) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const nlohmann::json& object_;
  std::string name_;
};

}  // namespace attn
