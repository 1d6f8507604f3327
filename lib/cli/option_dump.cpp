#include "cli/option_dump.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace attn::cli {

/// Reads an option's private parts for the dump.
class OptionDump {
 public:
  static std::string line(const Option& option) {
    const std::vector<std::string> words = words_of(option);
    return fmt::format(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\n", option.dashed(),
        option.letter_ == 0 ? "-" : fmt::format("-{}", option.letter_), kind(option),
        option.repeatable_ ? "many" : "once", option.takes_value() ? option.argument_ : "-",
        words.empty() ? "-" : fmt::format("{}", fmt::join(words, " ")), option.help_);
  }

 private:
  static std::vector<std::string> words_of(const Option& option) {
    if (!option.choices_.empty() || !option.completions_) return option.choices_;
    return option.completions_();
  }

  static std::string_view kind(const Option& option) {
    constexpr std::array<std::string_view, 4> kNumbers = {"N", "X", "SIZE", "LIST"};
    if (!option.takes_value()) return "flag";
    if (option.role_ != FileRole::kNone) return "file";
    if (option.argument_ == "FOLDER") return "folder";
    if (!option.choices_.empty()) return "word";
    if (option.completions_) return option.argument_ == "LIST" ? "words" : "word";
    const bool number =
        std::find(kNumbers.begin(), kNumbers.end(), option.argument_) != kNumbers.end();
    return number ? "number" : "value";
  }
};

std::string option_dump(const OptionTable& table) {
  std::string text;
  for (const Option& option : table.options()) text += OptionDump::line(option);
  return text;
}

}  // namespace attn::cli
