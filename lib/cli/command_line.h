#pragma once

#include <string>
#include <vector>

#include "cli/option_table.h"

namespace attn::cli {

/// Sets a table's fields from the words after the program's name. No abbreviations; an option
/// given twice, an unknown one, a stray word, an empty or unfit value, two inputs from stdin are
/// UsageErrors that name the culprit. Boost.Program_options takes the words apart.
class CommandLine {
 public:
  explicit CommandLine(OptionTable& table) : table_(table) {}

  void parse(std::vector<std::string> words);

  /// Is this switch among the words? Also where they do not parse: help wins over mistakes.
  bool asks_for(std::vector<std::string> words, const std::string& name) const;

 private:
  struct Typed {
    std::string name;  // empty for an operand
    std::string value;
  };

  std::vector<Typed> take_apart(const std::vector<std::string>& words) const;
  std::vector<std::string> with_empty_values(const std::vector<std::string>& words) const;
  bool is_option(const std::string& word) const;
  void set(Option& option, const std::string& value);
  void set_operand(const std::string& word);
  void check_required() const;
  void check_streams() const;
  void check_output_is_no_input() const;

  OptionTable& table_;
};

}  // namespace attn::cli
