#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/manner.h"
#include "cli/option.h"
#include "core/index.h"

namespace attn::cli {

/// All options of a program, in the order of its help and of its history. Each call binds an
/// option to a field; the field's value when declared is the default.
class OptionTable {
 public:
  OptionTable() = default;
  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;

  /// The options declared from here on stand under this heading in the help.
  void group(std::string title) { group_ = std::move(title); }

  /// A whole number, 1 or more unless at_least says otherwise.
  Option& count(std::string name, Index& field, std::string help);
  Option& count(std::string name, std::optional<Index>& field, std::string help);
  /// Whole numbers as list and ranges. The first value given replaces the default.
  Option& counts(std::string name, std::vector<Index>& field, std::string help);
  /// Bytes, with units.
  Option& size(std::string name, Index& field, std::string help);
  Option& size(std::string name, std::optional<Index>& field, std::string help);
  /// A finite number.
  Option& real(std::string name, double& field, std::string help);
  Option& real(std::string name, std::optional<double>& field, std::string help);
  Option& reals(std::string name, std::vector<double>& field, std::string help);
  /// Words, not empty.
  Option& text(std::string name, std::string& field, std::string help);
  Option& text(std::string name, std::optional<std::string>& field, std::string help);
  /// A text that may come several times.
  Option& texts(std::string name, std::vector<std::string>& field, std::string help);
  /// A file to read; `-` is stdin.
  Option& input(std::string name, std::string& field, std::string help);
  /// Files to read, one each time the option is given.
  Option& inputs(std::string name, std::vector<std::string>& field, std::string help);
  /// A file to write; `-` is stdout. Not part of the history.
  Option& output(std::string name, std::string& field, std::string help);
  /// Present or not.
  Option& flag(std::string name, bool& field, std::string help);
  /// A switch that does something else than set a bool.
  Option& action(std::string name, std::function<void()> act, std::string help);
  /// A value with a parser of its own, which throws UsageError and gets the text.
  Option& custom(std::string name, std::string argument, std::function<void(std::string_view)> set,
                 std::string help);

  /// One of some words; `-` and `_` are the same in them.
  Option& choice(std::string name, std::string& field, std::vector<std::string> words,
                 std::string help);
  /// One of some words, each with what it stands for. Field is Value or std::optional<Value>.
  template <class Field, class Value>
  Option& choice(const std::string& name, Field& field,
                 std::vector<std::pair<std::string, Value>> words, const std::string& help) {
    std::vector<std::string> names;
    names.reserve(words.size());
    for (const auto& word : words) names.push_back(word.first);
    std::string standard;
    if constexpr (std::is_same_v<Field, Value>) {
      for (const auto& word : words) {
        if (word.second == field) standard = word.first;
      }
    }
    return add_choice(
        name, std::move(names), std::move(standard), help,
        [words = std::move(words), &field](std::size_t at) { field = words[at].second; });
  }

  /// Looked at after all values are set; throws UsageError where options do not go together.
  void check(std::function<void()> rule) { checks_.push_back(std::move(rule)); }

  /// Was it typed? A name that was never declared is a ShapeError.
  bool given(std::string_view name) const;
  /// Sets every field to what was typed once more: for a check that read other defaults from a
  /// file.
  void set_again();
  /// One line that says how the data came about: the program and those options typed that can
  /// change the data, in table order, files as base names.
  std::string history_line(std::string_view program) const;

  std::deque<Option>& options() { return options_; }
  const std::deque<Option>& options() const { return options_; }
  Option* find(std::string_view name);
  const Option* find(std::string_view name) const;
  /// The options that name files to be written.
  std::vector<const Option*> outputs() const;

  /// What -q, --verbose, --color and --no-progress set.
  Manner manner;

 private:
  friend class CommandLine;

  Option& add(std::string name, std::string argument, std::string help);
  Option& add_choice(std::string name, std::vector<std::string> names, std::string standard,
                     std::string help, std::function<void(std::size_t)> pick);

  std::deque<Option> options_;  // stable addresses: the setters hold on to their option
  std::vector<std::function<void()>> checks_;
  std::string group_ = "Options";
};

}  // namespace attn::cli
