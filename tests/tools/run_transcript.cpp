// Runs a transcript: commands with what they must print and return.
//
//   == what this case shows
//   $ kvcache-size --layers 2 --kv-heads 1 --head-dim 8 --tokens 4
//   > a line of stdout, exactly
//   >~ a regular expression for a whole line of stdout
//   >...                 any further lines
//   ! a line of stderr   (!~ and !... likewise)
//   = 2                  the exit status; 0 where nothing is said
//   ? command            skips the case where the command fails: a pty, a locale, another program
//
// A command goes on over several "$" lines. The cases of one file share one empty folder, in
// order. Streams that a case says nothing about must be empty, but for the line in which each
// program says what it did ("tensor-make: made 2 tensors; wrote FILE, SIZE"), which counts only in
// a case that has one. $DATA is tests/data, $SOURCE the
// source root, $RUNNER this program.

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/places.h"
#include "support/process.h"

namespace {

using attn::testing::RunOptions;
using attn::testing::RunResult;

struct Expectation {
  enum class Kind { kExact, kRegex, kAnything } kind;
  std::string text;
};

struct Case {
  int line = 0;
  std::string title;
  std::string command;
  std::string needs;
  std::vector<Expectation> out, err;
  int status = 0;
};

std::string after(const std::string& line, std::size_t prefix) {
  return line.size() > prefix ? line.substr(prefix + 1) : "";
}

Expectation expectation(const std::string& line) {
  if (line.substr(1) == "...") return {Expectation::Kind::kAnything, ""};
  if (line.size() > 1 && line[1] == '~') return {Expectation::Kind::kRegex, after(line, 2)};
  return {Expectation::Kind::kExact, after(line, 1)};
}

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Case> cases;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("== ")) {
      cases.push_back({});
      cases.back().line = number;
      cases.back().title = line.substr(3);
      continue;
    }
    if (cases.empty()) throw std::runtime_error(fmt::format("{}:{}: no case yet", path, number));
    Case& current = cases.back();
    switch (line[0]) {
      case '$':
        if (!current.command.empty()) current.command += '\n';
        current.command += after(line, 1);
        break;
      case '?':
        current.needs = after(line, 1);
        break;
      case '>':
        current.out.push_back(expectation(line));
        break;
      case '!':
        current.err.push_back(expectation(line));
        break;
      case '=':
        current.status = std::stoi(after(line, 1));
        break;
      default:
        throw std::runtime_error(fmt::format("{}:{}: unknown line: {}", path, number, line));
    }
  }
  for (const Case& one : cases) {
    if (one.command.empty())
      throw std::runtime_error(fmt::format("{}:{}: no command", path, one.line));
  }
  return cases;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

bool line_fits(const Expectation& wanted, const std::string& line) {
  return wanted.kind == Expectation::Kind::kRegex
             ? std::regex_match(line, std::regex(wanted.text, std::regex::extended))
             : wanted.text == line;
}

// In order; kAnything takes as few lines as let the rest fit.
bool fits(const std::vector<Expectation>& wanted, std::size_t w,
          const std::vector<std::string>& lines, std::size_t l) {
  if (w == wanted.size()) return l == lines.size();
  if (wanted[w].kind == Expectation::Kind::kAnything) {
    for (std::size_t next = l; next <= lines.size(); ++next) {
      if (fits(wanted, w + 1, lines, next)) return true;
    }
    return false;
  }
  return l < lines.size() && line_fits(wanted[w], lines[l]) && fits(wanted, w + 1, lines, l + 1);
}

void show(const char* stream, const std::vector<Expectation>& wanted, const std::string& got) {
  fmt::print("    {} wanted:\n", stream);
  for (const Expectation& one : wanted) {
    fmt::print("      {}\n", one.kind == Expectation::Kind::kAnything ? "..." : one.text);
  }
  fmt::print("    {} was:\n", stream);
  for (const std::string& line : lines_of(got)) fmt::print("      {}\n", line);
}

// The line that says what a program did: its name, and a verb of the past.
bool says_what_was_done(const std::string& line) {
  static const std::regex kDone(
      "(attention-reach|attention_html.py|attn-check|kvcache-bench|kvcache-size|posenc-dump|"
      "tensor-diff|tensor-make|tensor-show|tinygpt-generate|tinygpt-import|tinygpt-train): "
      "(checked|compared|computed|counted|explained|exported|filled|fitted|generated|held|imported|"
      "listed|made|measured|merged|read|reserved|rotated|scored|served|sized|stopped|timed|"
      "tokenized|trained|tried|wrote) .*");
  return std::regex_match(line, kDone);
}

// Every program says so; cases are about other things.
std::vector<std::string> lines_that_count(const std::vector<Expectation>& wanted,
                                          std::vector<std::string> lines) {
  for (const Expectation& one : wanted) {
    if (says_what_was_done(one.text)) return lines;
  }
  lines.erase(std::remove_if(lines.begin(), lines.end(), says_what_was_done), lines.end());
  return lines;
}

bool passes(const Case& one, const RunOptions& options) {
  const RunResult result = attn::testing::run_shell(one.command, options);
  const bool out = fits(one.out, 0, lines_of(result.out), 0);
  const bool err = fits(one.err, 0, lines_that_count(one.err, lines_of(result.err)), 0);
  if (out && err && result.status == one.status && !result.timed_out) return true;
  fmt::print("FAILED line {}: {}\n    $ {}\n", one.line, one.title, one.command);
  if (result.timed_out) fmt::print("    killed after {} s\n", options.timeout.count());
  if (result.status != one.status)
    fmt::print("    status wanted {}, was {}\n", one.status, result.status);
  if (!out) show("stdout", one.out, result.out);
  if (!err || result.status != one.status) show("stderr", one.err, result.err);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: run_transcript FILE\n");
    return 2;
  }
  try {
    const attn::testing::TempFolder folder;
    RunOptions options;
    options.folder = folder.path();
    options.timeout = std::chrono::seconds(120);
    options.environment["SOURCE"] = attn::testing::source_folder();
    options.environment["RUNNER"] = std::filesystem::canonical("/proc/self/exe");
    options.environment["DATA"] = attn::testing::source_folder() / "tests/data";
    int passed = 0, failed = 0, skipped = 0;
    for (const Case& one : read_cases(argv[1])) {
      if (!one.needs.empty() && attn::testing::run_shell(one.needs, options).status != 0) {
        fmt::print("skipped line {}: {}: not here: {}\n", one.line, one.title, one.needs);
        ++skipped;
      } else if (passes(one, options)) {
        ++passed;
      } else {
        ++failed;
      }
    }
    fmt::print("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
    return failed == 0 && passed > 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "run_transcript: {}\n", error.what());
    return 2;
  }
}
