#include "cli/command_line.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <optional>

#include "core/error.h"
#include "core/text.h"

namespace attn::cli {
namespace {

namespace po = boost::program_options;

std::string without_dashes(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  return std::string(word.substr(0, word.find('=')));
}

// --norm_type is --norm-type: the names of attributes and of options are the same words.
void spell_with_dashes(std::vector<std::string>& words, const OptionTable& table) {
  for (std::string& word : words) {
    if (word == "--") return;
    if (!word.starts_with("--")) continue;
    const auto end = std::find(word.begin(), word.end(), '=');
    std::string name(word.begin() + 2, end);
    std::replace(name.begin(), name.end(), '_', '-');
    if (table.find(name) != nullptr) word = "--" + name + std::string(end, word.end());
  }
}

[[noreturn]] void throw_unknown(const std::string& boost_name,
                                const std::vector<std::string>& words,
                                const std::vector<std::string>& known) {
  const std::string name = without_dashes(boost_name);
  std::vector<std::string> hints;
  std::string typed = boost_name;
  for (const std::string& word : words) {
    if (word == "--") break;
    const bool is_long = word.starts_with("--");
    if (is_long && without_dashes(word) == name) {
      typed = "--" + name;
      break;
    }
    if (!is_long && word.starts_with('-') && word.find(name, 1) != std::string::npos) {
      typed = word;
      hints.push_back(
          fmt::format("if it is a file, write -- {} or ./{}", escaped(word), escaped(word)));
      break;
    }
  }
  const std::string near = typed.starts_with("--") ? nearest_word(name, known) : "";
  if (!near.empty()) hints.push_back(fmt::format("did you mean '--{}'?", near));
  throw UsageError(fmt::format("unknown option '{}'", escaped(typed)), hints);
}

struct FileIdentity {
  dev_t device;
  ino_t inode;
};

std::optional<FileIdentity> regular_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

}  // namespace

void CommandLine::parse(std::vector<std::string> words) {
  spell_with_dashes(words, table_);
  std::vector<Typed> typed = take_apart(words);
  // Operands last: they fill what the options left open.
  std::stable_partition(typed.begin(), typed.end(),
                        [](const Typed& one) { return !one.name.empty(); });
  std::stable_partition(typed.begin(), typed.end(), [this](const Typed& one) {
    return !one.name.empty() && table_.find(one.name)->before_others_;
  });
  for (const Typed& one : typed) {
    if (one.name.empty()) {
      set_operand(one.value);
    } else {
      set(*table_.find(one.name), one.value);
    }
  }
  check_required();
  for (const auto& rule : table_.checks_) rule();
  check_streams();
  check_output_is_no_input();
}

// --prompt= as two words, where an empty value is one: Boost refuses it as one word.
std::vector<std::string> CommandLine::with_empty_values(
    const std::vector<std::string>& words) const {
  std::vector<std::string> split;
  bool operands = false;
  for (const std::string& word : words) {
    operands = operands || word == "--";
    const bool empty = !operands && word.starts_with("--") && word.ends_with('=');
    const Option* option = empty ? table_.find(word.substr(2, word.size() - 3)) : nullptr;
    if (option != nullptr && option->may_be_empty_) {
      split.push_back(option->dashed());
      split.emplace_back();
    } else {
      split.push_back(word);
    }
  }
  return split;
}

// A word that Boost would swallow as a value, though it is surely meant as an option.
bool CommandLine::is_option(const std::string& word) const {
  for (const Option& option : table_.options()) {
    if (word == option.dashed() || word.starts_with(option.dashed() + "=")) return true;
    if (option.letter_ != 0 && word == fmt::format("-{}", option.letter_)) return true;
  }
  return false;
}

bool CommandLine::asks_for(std::vector<std::string> words, const std::string& name) const {
  try {
    const std::vector<Typed> typed = take_apart(words);
    return std::any_of(typed.begin(), typed.end(),
                       [&](const Typed& one) { return one.name == name; });
  } catch (const UsageError&) {
    const Option* option = table_.find(name);
    const std::string letter = option == nullptr ? "" : fmt::format("-{}", option->letter_);
    words.erase(std::find(words.begin(), words.end(), "--"), words.end());
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word == "--" + name || word == letter;
    });
  }
}

std::vector<CommandLine::Typed> CommandLine::take_apart(
    const std::vector<std::string>& words) const {
  po::options_description description;
  std::vector<std::string> known;
  for (const Option& option : table_.options()) {
    std::string spelling = option.name_;
    if (option.letter_ != 0) spelling += fmt::format(",{}", option.letter_);
    if (option.takes_value()) {
      description.add_options()(spelling.c_str(), po::value<std::string>(), "");
    } else {
      description.add_options()(spelling.c_str(), "");
    }
    known.push_back(option.name_);
  }
  // Guessing would accept abbreviations and freeze every name that an option begins with.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  try {
    const auto parsed =
        po::command_line_parser(with_empty_values(words)).options(description).style(style).run();
    std::vector<Typed> typed;
    for (const auto& one : parsed.options) {
      const bool operand = one.position_key >= 0;
      if (!operand && one.original_tokens.size() > 1 && is_option(one.original_tokens[1])) {
        throw UsageError(fmt::format("--{} wants a value", one.string_key));
      }
      typed.push_back({operand ? "" : one.string_key, one.value.empty() ? "" : one.value.front()});
    }
    return typed;
  } catch (const po::unknown_option& error) {
    throw_unknown(error.get_option_name(), words, known);
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string name = "--" + without_dashes(error.get_option_name());
    switch (error.kind()) {
      case po::invalid_syntax::missing_parameter:
        throw UsageError(fmt::format("{} wants a value", name));
      case po::invalid_syntax::empty_adjacent_parameter:
        throw UsageError(fmt::format("{} has an empty value", name));
      case po::invalid_syntax::extra_parameter:
        throw UsageError(fmt::format("{} takes no value", name));
      default:
        throw UsageError(error.what());
    }
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
}

void CommandLine::set(Option& option, const std::string& value) {
  if (!option.given_.empty() && !option.repeatable_) {
    throw UsageError(fmt::format("{} is given twice", option.dashed()));
  }
  if (option.takes_value() && value.empty() && !option.may_be_empty_) {
    throw UsageError(fmt::format("{} has an empty value", option.dashed()));
  }
  option.set_(value);
  option.given_.push_back(value);
}

void CommandLine::set_operand(const std::string& word) {
  for (Option& option : table_.options()) {
    if (option.takes_operands_ && !option.given_.empty()) return set(option, word);
  }
  Option* taken = nullptr;
  for (Option& option : table_.options()) {
    if (!option.operand_) continue;
    if (option.given_.empty() || option.repeatable_) return set(option, word);
    taken = &option;
  }
  std::vector<std::string> hints;
  if (taken != nullptr) {
    hints.push_back(fmt::format("{} is already {}", taken->dashed(), escaped(taken->given_[0])));
  }
  throw UsageError(fmt::format("unexpected operand '{}'", escaped(word)), hints);
}

void CommandLine::check_required() const {
  for (const Option& option : table_.options()) {
    if (!option.required_ || !option.given_.empty()) continue;
    throw UsageError(fmt::format("{} is missing: {}",
                                 option.operand_ ? "operand " + option.argument_ : option.dashed(),
                                 option.help_));
  }
}

void CommandLine::check_streams() const {
  const Option* reads_stdin = nullptr;
  for (const Option& option : table_.options()) {
    for (const std::string& value : option.given_) {
      if (value != "-" || option.role_ == FileRole::kNone) continue;
      if (option.role_ == FileRole::kOutput) {
        if (isatty(STDOUT_FILENO) == 0) continue;
        throw UsageError(fmt::format("{} - would write HDF5 to the terminal", option.dashed()),
                         {fmt::format("give a file ({} FILE) or a pipe", option.dashed())});
      }
      if (reads_stdin != nullptr) {
        throw UsageError(fmt::format("only one input can be stdin: {} and {} are both -",
                                     reads_stdin->dashed(), option.dashed()));
      }
      reads_stdin = &option;
      if (isatty(STDIN_FILENO) != 0) {
        throw UsageError(fmt::format("{} - would read from the terminal", option.dashed()),
                         {"give a file or a pipe"});
      }
    }
  }
}

void CommandLine::check_output_is_no_input() const {
  for (const Option& output : table_.options()) {
    if (output.role_ != FileRole::kOutput) continue;
    for (const std::string& written : output.given_) {
      const auto target = written == "-" ? std::nullopt : regular_file(written);
      if (!target) continue;
      for (const Option& input : table_.options()) {
        if (input.role_ != FileRole::kInput || input.may_be_output_) continue;
        for (const std::string& read : input.given_) {
          const auto source = read == "-" ? std::nullopt : regular_file(read);
          if (!source || source->device != target->device || source->inode != target->inode) {
            continue;
          }
          throw UsageError(fmt::format("{} {} is the input file itself ({} {})", output.dashed(),
                                       escaped(written), input.dashed(), escaped(read)));
        }
      }
    }
  }
}

}  // namespace attn::cli
