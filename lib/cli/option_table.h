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
#include "cli/number.h"
#include "core/index.h"

namespace attn::cli {

/// What an option's value is to the file system.
enum class FileRole { kNone, kInput, kOutput };

/// One option of a program: how it is spelled, what it takes, what the help says, where the
/// value goes. Declared in a chain: table.count("layers", o.layers, "blocks").letter('l').
class Option {
 public:
  /// A short form, -l.
  Option& letter(char short_form);
  /// Without it the program refuses to run.
  Option& required();
  /// May be given several times; each value is set in turn.
  Option& repeatable();
  /// Whatever its value, the data written are the same: not part of the history.
  Option& not_data();
  /// A word on the command line that is no option is the value of the first of these not given.
  Option& operand();
  /// Repeatable; once it is given, words that are no options are further values of it:
  /// --text a.txt b.txt.
  Option& takes_operands();
  /// An input that may be the output file as well (--resume X -o X).
  Option& may_be_output();
  /// Set before all others, wherever it stands: what it presets, they override (--preset).
  Option& before_others();
  /// An empty value is a value: --prompt "".
  Option& may_be_empty();
  /// The default as the help says it, where the field's own value does not say it.
  Option& default_is(std::string words);
  /// Words that it takes, maybe among other values, for a shell to complete; several of them
  /// between commas where the argument is LIST.
  Option& completes(std::vector<std::string> words);
  /// Words that take time to gather, so only when a shell asks.
  Option& completes_from(std::function<std::vector<std::string>()> words);
  /// The word for the value in the help: N, FILE, LIST.
  Option& argument(std::string word);

  /// Limits of a number, the ends included; `above` and `below` exclude them.
  template <class T>
  Option& at_least(T limit) {
    counts_.lowest = static_cast<Index>(limit);
    reals_.lowest = static_cast<double>(limit);
    return *this;
  }
  template <class T>
  Option& at_most(T limit) {
    counts_.highest = static_cast<Index>(limit);
    reals_.highest = static_cast<double>(limit);
    return *this;
  }
  Option& above(double limit);
  Option& below(double limit);

  const std::string& name() const { return name_; }
  /// "--layers"
  std::string dashed() const { return "--" + name_; }
  bool takes_value() const { return !argument_.empty(); }
  /// The values typed, in order; a switch that was given has one empty value.
  const std::vector<std::string>& given() const { return given_; }

 private:
  friend class OptionTable;
  friend class CommandLine;
  friend class HelpText;
  friend class OptionDump;

  std::string name_;
  char letter_ = 0;
  std::string argument_;
  std::string help_;
  std::string group_;
  std::string default_;
  std::vector<std::string> choices_;
  std::function<std::vector<std::string>()> completions_;
  CountLimits counts_;
  RealLimits reals_;
  FileRole role_ = FileRole::kNone;
  bool required_ = false;
  bool repeatable_ = false;
  bool changes_data_ = true;
  bool operand_ = false;
  bool takes_operands_ = false;
  bool may_be_output_ = false;
  bool before_others_ = false;
  bool may_be_empty_ = false;
  std::function<void(std::string_view)> set_;
  std::vector<std::string> given_;
};

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
