#include "cli/help.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/version.hpp>
#include <string_view>

#include "core/text.h"

namespace attn::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kIndent = 27;  // where the explanations begin

// Words of `text` from column `at` on, later lines indented to `indent`.
std::string wrapped(const std::string& text, std::size_t at, std::size_t indent) {
  std::string out;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::string word = text.substr(start, end - start);
    start = end + 1;
    if (at > indent && at + 1 + word.size() > kWidth) {
      out += '\n';
      out.append(indent, ' ');
      at = indent;
    } else if (!out.empty()) {
      out += " ";
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out;
}

// Lines that begin with a space, formulas and tables, stay as they are; the others are filled up to
// the next such line or an empty one.
std::string filled(const std::string& notes) {
  std::string out;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += wrapped(paragraph, 0, 0) + "\n";
    paragraph.clear();
  };
  for (const std::string_view line : split(notes, '\n')) {
    if (line.empty() || line.front() == ' ') {
      end_paragraph();
      out += line;
      out += '\n';
    } else {
      if (!paragraph.empty()) paragraph += ' ';
      paragraph += line;
    }
  }
  end_paragraph();
  return out;
}

}  // namespace

/// Reads an option's private parts for the help.
class HelpText {
 public:
  static const std::string& group(const Option& option) { return option.group_; }

  static std::string line(const Option& option) {
    std::string left = option.letter_ == 0 ? "      " : fmt::format("  -{}, ", option.letter_);
    left += option.dashed();
    if (option.takes_value()) left += " " + option.argument_;
    if (left.size() + 2 > kIndent) {
      left += "\n" + std::string(kIndent, ' ');
    } else {
      left.resize(kIndent, ' ');
    }
    return left + wrapped(explained(option), kIndent, kIndent) + "\n";
  }

 private:
  static std::string explained(const Option& option) {
    std::string text = option.help_;
    std::vector<std::string> facts;
    if (!option.choices_.empty())
      facts.push_back(fmt::format("{}", fmt::join(option.choices_, ", ")));
    if (option.repeatable_) facts.emplace_back("may be repeated");
    if (option.required_) facts.emplace_back("required");
    if (!option.default_.empty()) facts.push_back("default " + option.default_);
    if (!facts.empty()) text += fmt::format(" ({})", fmt::join(facts, "; "));
    return text;
  }
};

std::string help_text(const Program& program, const OptionTable& table) {
  std::string text = fmt::format(
      "{}\n\nUsage: {} {}\n", wrapped(fmt::format("{}: {}", program.name, program.summary), 0, 0),
      program.name, program.usage);
  if (!program.examples.empty()) text += "\nExamples:\n";
  for (const Example& example : program.examples) {
    text += fmt::format("  {}\n", example.command);
    if (!example.shows.empty()) text += "      " + wrapped(example.shows, 6, 6) + "\n";
  }
  std::string group;
  for (const Option& option : table.options()) {
    if (HelpText::group(option) != group) {
      group = HelpText::group(option);
      text += fmt::format("\n{}:\n", group);
    }
    text += HelpText::line(option);
  }
  if (!program.notes.empty()) text += fmt::format("\n{}", filled(program.notes));
  text += "\nExit status:\n  0  done\n";
  if (!program.meaning_of_no.empty()) text += fmt::format("  1  {}\n", program.meaning_of_no);
  return text +
         "  2  wrong usage\n"
         "  3  data, input, output or memory\n"
         "  4  a bug in this program: please report it\n";
}

std::string usage_text(const Program& program) {
  std::string text = fmt::format("Usage: {} {}\n", program.name, program.usage);
  if (!program.examples.empty()) {
    text += fmt::format("Example: {}\n", program.examples.front().command);
  }
  return text + fmt::format("'{} --help' explains the options.\n", program.name);
}

std::string version_text(const Program& program) {
  std::string text = fmt::format("{} (attntools) {}\n", program.name, ATTNTOOLS_VERSION);
#if defined(__clang__)
  const std::string compiler = fmt::format("clang++ {}", __clang_version__);
#else
  const std::string compiler = fmt::format("g++ {}", __VERSION__);
#endif
  text += fmt::format("{}, {} build, Boost {}.{}.{}\n", compiler, ATTNTOOLS_BUILD_TYPE,
                      BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
  if (program.versions != nullptr) {
    for (const std::string& line : program.versions()) text += line + "\n";
  }
  return text;
}

}  // namespace attn::cli
