#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/index.h"
#include "sizing/cache_spec.h"

namespace attn {

/// A value that a class of the transformers library takes where the file is silent.
struct Fallback {
  Index value = 0;             ///< 0: there is none, and a silent file is refused
  std::string_view from = "";  ///< "LlamaConfig"
  bool for_null = false;       ///< the class fills in a null as well
};

/// A config.json object, read by key. It remembers which keys were read, so that one which changes
/// the cache and that nobody understood can be refused. All complaints are DataErrors that name
/// the input and the key. A null is the same as a missing key, but for is_null().
class ConfigReader {
 public:
  using Keys = std::initializer_list<const char*>;

  /// `name` is what messages call the input.
  ConfigReader(const nlohmann::json& object, std::string name);

  const std::string& name() const { return name_; }
  bool has(const char* key) const;
  /// The key is there and says null.
  bool is_null(const char* key) const;
  /// The key is there, and its value is a list (an object).
  bool is_list(const char* key) const;
  bool is_object(const char* key) const;
  /// The value, where it is a whole number; nothing and no complaint where it is anything else.
  std::optional<Index> number_if_any(const char* key) const;

  /// The first of the keys that is there, as a count of 1 or more.
  std::optional<Index> count(Keys keys, const char* what);
  /// The same, or the fallback, which is noted as one; DataError if there is none, or if the file
  /// says null and the class would keep that.
  Index count_or(Keys keys, const char* what, Fallback fallback);
  /// The same; DataError if none is there.
  Index required_count(Keys keys, const char* what);
  /// Names for one thing must not contradict each other.
  void require_same(Keys keys);
  /// A whole number of 0 or more.
  std::optional<Index> number(const char* key);
  /// Any finite number above 0.
  std::optional<double> factor(const char* key);
  std::optional<bool> flag(const char* key);
  std::optional<std::string> text(const char* key);
  /// A text that is not empty, where the value is a text at all.
  std::optional<std::string> letters(const char* key);
  std::optional<std::vector<std::string>> words(const char* key);
  /// [[["a", "b"], 2]] as a, b, a, b: lists of words and how often each is repeated; a million
  /// words at most.
  std::vector<std::string> repeated_words(const char* key);
  /// A list of whole numbers of 0 or more (null is 0).
  std::optional<std::vector<Index>> numbers(const char* key);
  /// An object inside, if the key is there.
  std::optional<ConfigReader> object(const char* key);
  /// A list of objects.
  std::optional<std::vector<ConfigReader>> objects(const char* key);

  /// A key that was dealt with, or does not matter to the cache.
  void ignore(const char* key) { read_.insert(key); }
  /// The first key that is there, is none of those read, and is neither null nor false.
  std::optional<std::string> unread(Keys keys) const;

  /// Notes where a number comes from; a second note on the same thing replaces the first.
  void note(std::string what, Index value, std::string from);
  std::vector<SpecFact>& facts() { return facts_; }

  /// The product of counts from the file, which a hostile one makes too large.
  Index product(std::initializer_list<Index> factors) const;

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const nlohmann::json* find(const char* key);

  const nlohmann::json* object_;
  std::string name_;
  std::set<std::string, std::less<>> read_;
  std::vector<SpecFact> facts_;
};

}  // namespace attn
