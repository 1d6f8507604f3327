#include "cli/option_table.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace attn::cli {
namespace {

std::string dashes_for_underscores(std::string_view text) {
  std::string same(text);
  std::replace(same.begin(), same.end(), '_', '-');
  return same;
}

std::string base_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// As a shell would need it, so that the line can be pasted; control characters made visible.
std::string quoted(std::string_view value) {
  constexpr std::size_t kLongest = 4096;  // an attribute holds less than 32 KiB
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+*=@%";
  std::string safe = escaped(value, kLongest);
  if (!safe.empty() && safe.find_first_not_of(kPlain) == std::string::npos) return safe;
  std::string text = "'";
  for (const char c : safe) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

}  // namespace

Option& OptionTable::add(std::string name, std::string argument, std::string help) {
  require_shape(find(name) == nullptr, "option declared twice: --" + name);
  Option& option = options_.emplace_back();
  option.name_ = std::move(name);
  option.argument_ = std::move(argument);
  option.help_ = std::move(help);
  option.group_ = group_;
  return option;
}

Option& OptionTable::count(std::string name, Index& field, std::string help) {
  Option& option = add(std::move(name), "N", std::move(help));
  option.default_ = fmt::format("{}", field);
  option.set_ = [&option, &field](std::string_view text) {
    field = parse_count(text, option.dashed(), option.counts_);
  };
  return option;
}

Option& OptionTable::count(std::string name, std::optional<Index>& field, std::string help) {
  Option& option = add(std::move(name), "N", std::move(help));
  if (field) option.default_ = fmt::format("{}", *field);
  option.set_ = [&option, &field](std::string_view text) {
    field = parse_count(text, option.dashed(), option.counts_);
  };
  return option;
}

Option& OptionTable::counts(std::string name, std::vector<Index>& field, std::string help) {
  Option& option = add(std::move(name), "LIST", std::move(help));
  option.default_ = fmt::format("{}", fmt::join(field, ","));
  option.set_ = [&option, &field](std::string_view text) {
    field = parse_counts(text, option.dashed(), option.counts_);
  };
  return option;
}

Option& OptionTable::size(std::string name, Index& field, std::string help) {
  Option& option = add(std::move(name), "SIZE", std::move(help));
  option.default_ = short_size_text(field);
  option.set_ = [&option, &field](std::string_view text) {
    field = parse_size(text, option.dashed(), option.counts_);
  };
  return option;
}

Option& OptionTable::size(std::string name, std::optional<Index>& field, std::string help) {
  Option& option = add(std::move(name), "SIZE", std::move(help));
  if (field) option.default_ = short_size_text(*field);
  option.set_ = [&option, &field](std::string_view text) {
    field = parse_size(text, option.dashed(), option.counts_);
  };
  return option;
}

Option& OptionTable::real(std::string name, double& field, std::string help) {
  Option& option = add(std::move(name), "X", std::move(help));
  option.default_ = fmt::format("{}", field);
  option.set_ = [&option, &field](std::string_view text) {
    field = parse_real(text, option.dashed(), option.reals_);
  };
  return option;
}

Option& OptionTable::real(std::string name, std::optional<double>& field, std::string help) {
  Option& option = add(std::move(name), "X", std::move(help));
  if (field) option.default_ = fmt::format("{}", *field);
  option.set_ = [&option, &field](std::string_view text) {
    field = parse_real(text, option.dashed(), option.reals_);
  };
  return option;
}

Option& OptionTable::reals(std::string name, std::vector<double>& field, std::string help) {
  Option& option = add(std::move(name), "LIST", std::move(help));
  option.default_ = fmt::format("{}", fmt::join(field, ","));
  option.set_ = [&option, &field](std::string_view text) {
    field = parse_reals(text, option.dashed(), option.reals_);
  };
  return option;
}

Option& OptionTable::text(std::string name, std::string& field, std::string help) {
  Option& option = add(std::move(name), "TEXT", std::move(help));
  option.default_ = escaped(field);
  option.set_ = [&field](std::string_view text) { field = text; };
  return option;
}

Option& OptionTable::text(std::string name, std::optional<std::string>& field, std::string help) {
  Option& option = add(std::move(name), "TEXT", std::move(help));
  if (field) option.default_ = escaped(*field);
  option.set_ = [&field](std::string_view text) { field = text; };
  return option;
}

Option& OptionTable::texts(std::string name, std::vector<std::string>& field, std::string help) {
  Option& option = add(std::move(name), "TEXT", std::move(help));
  option.repeatable_ = true;
  option.set_ = [&option, &field](std::string_view text) {
    if (option.given_.empty()) field.clear();
    field.emplace_back(text);
  };
  return option;
}

Option& OptionTable::input(std::string name, std::string& field, std::string help) {
  Option& option = text(std::move(name), field, std::move(help)).argument("FILE");
  option.role_ = FileRole::kInput;
  return option;
}

Option& OptionTable::inputs(std::string name, std::vector<std::string>& field, std::string help) {
  Option& option = texts(std::move(name), field, std::move(help)).argument("FILE");
  option.role_ = FileRole::kInput;
  return option;
}

Option& OptionTable::output(std::string name, std::string& field, std::string help) {
  Option& option = text(std::move(name), field, std::move(help)).argument("FILE");
  option.role_ = FileRole::kOutput;
  option.changes_data_ = false;
  return option;
}

Option& OptionTable::flag(std::string name, bool& field, std::string help) {
  return action(
      std::move(name), [&field] { field = true; }, std::move(help));
}

Option& OptionTable::action(std::string name, std::function<void()> act, std::string help) {
  Option& option = add(std::move(name), "", std::move(help));
  option.set_ = [act = std::move(act)](std::string_view) { act(); };
  return option;
}

Option& OptionTable::custom(std::string name, std::string argument,
                            std::function<void(std::string_view)> set, std::string help) {
  Option& option = add(std::move(name), std::move(argument), std::move(help));
  option.set_ = std::move(set);
  return option;
}

Option& OptionTable::choice(std::string name, std::string& field, std::vector<std::string> words,
                            std::string help) {
  std::vector<std::string> names = words;
  return add_choice(std::move(name), std::move(names), field, std::move(help),
                    [words = std::move(words), &field](std::size_t at) { field = words[at]; });
}

Option& OptionTable::add_choice(std::string name, std::vector<std::string> names,
                                std::string standard, std::string help,
                                std::function<void(std::size_t)> pick) {
  Option& option = add(std::move(name), "WORD", std::move(help));
  option.default_ = std::move(standard);
  option.choices_ = std::move(names);
  option.set_ = [&option, pick = std::move(pick)](std::string_view text) {
    const std::string typed = dashes_for_underscores(text);
    for (std::size_t i = 0; i < option.choices_.size(); ++i) {
      if (dashes_for_underscores(option.choices_[i]) == typed) return pick(i);
    }
    std::vector<std::string> hints;
    const std::string near = nearest_word(text, option.choices_);
    if (!near.empty()) hints.push_back(fmt::format("did you mean '{}'?", near));
    throw UsageError(fmt::format("{} must be one of {}: '{}'", option.dashed(),
                                 fmt::join(option.choices_, ", "), escaped(text)),
                     hints);
  };
  return option;
}

Option* OptionTable::find(std::string_view name) {
  for (Option& option : options_) {
    if (option.name_ == name) return &option;
  }
  return nullptr;
}

std::vector<const Option*> OptionTable::outputs() const {
  std::vector<const Option*> found;
  for (const auto& option : options_) {
    if (option.role_ == FileRole::kOutput) found.push_back(&option);
  }
  return found;
}

const Option* OptionTable::find(std::string_view name) const {
  for (const Option& option : options_) {
    if (option.name_ == name) return &option;
  }
  return nullptr;
}

bool OptionTable::given(std::string_view name) const {
  const Option* option = find(name);
  require_shape(option != nullptr, fmt::format("no option --{} was declared", name));
  return !option->given_.empty();
}

void OptionTable::set_again() {
  for (const bool first : {true, false}) {
    for (Option& option : options_) {
      if (option.before_others_ != first) continue;
      std::vector<std::string> values;
      values.swap(option.given_);
      for (std::string& value : values) {
        option.set_(value);
        option.given_.push_back(std::move(value));
      }
    }
  }
}

std::string OptionTable::history_line(std::string_view program) const {
  std::string line(program);
  for (const Option& option : options_) {
    if (!option.changes_data_) continue;
    for (const std::string& value : option.given_) {
      line += fmt::format(" {}", option.dashed());
      if (!option.takes_value()) continue;
      line +=
          fmt::format(" {}", quoted(option.role_ == FileRole::kNone ? value : base_name(value)));
    }
  }
  return line;
}

}  // namespace attn::cli
