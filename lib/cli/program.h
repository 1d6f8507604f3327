#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::cli {

struct Example {
  std::string command = "";
  std::string shows = "";  ///< what one will see, in a few words
};

/// What a program says about itself.
struct Program {
  std::string name = "";     ///< "kvcache-size"
  std::string summary = "";  ///< one line, lower case, without a full stop
  std::string usage = "[OPTIONS]";
  std::vector<Example> examples = {};
  /// Paragraphs after the options, filled to the width of the help; an empty line ends one, and
  /// lines that begin with a space stay as they are. May be empty.
  std::string notes = "";
  std::string meaning_of_no = "";  ///< what exit 1 means for it; empty where it never happens
  bool bare_call_works = false;    ///< does it do something without any argument?
  std::vector<std::string> (*versions)() = nullptr;  ///< more lines for --version
};

}  // namespace attn::cli
