#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace attn::cli
