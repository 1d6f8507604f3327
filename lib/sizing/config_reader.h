#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"
#include "sizing/cache_spec.h"

namespace attn {

/// A config.json object, read by key. It remembers which keys were read, so that one which changes
/// the cache and that nobody understood can be refused. All complaints are DataErrors that name
/// the input and the key. A null is the same as a missing key.
class ConfigReader {
 public:
  /// `name` is what messages call the input.
  ConfigReader(const nlohmann::json& object, std::string name);

  const std::string& name() const { return name_; }
  bool has(const char* key) const;

  /// The first of the keys that is there, as a count of 1 or more.
  std::optional<Index> count(std::initializer_list<const char*> keys, const char* what);
  /// The same; DataError if none is there.
  Index required_count(std::initializer_list<const char*> keys, const char* what);
  /// A whole number of 0 or more.
  std::optional<Index> number(const char* key);
  std::optional<bool> flag(const char* key);
  std::optional<std::string> text(const char* key);
  std::optional<std::vector<std::string>> words(const char* key);
  /// An object inside, if the key is there.
  std::optional<ConfigReader> object(const char* key);

  /// A key that was dealt with, or does not matter to the cache.
  void ignore(const char* key) { read_.insert(key); }
  /// The first key that is there, is none of those read, and is neither null nor false.
  std::optional<std::string> unread(std::initializer_list<const char*> keys) const;

  /// Notes where a number comes from; a second note on the same thing replaces the first.
  void note(std::string what, Index value, std::string from);
  std::vector<SpecFact>& facts() { return facts_; }

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const nlohmann::json* find(const char* key);

  const nlohmann::json* object_;
  std::string name_;
  std::set<std::string, std::less<>> read_;
  std::vector<SpecFact> facts_;
};

}  // namespace attn
