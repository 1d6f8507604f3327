#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "cli/manner.h"
#include "cli/option_table.h"
#include "cli/program.h"
#include "cli/report.h"
#include "cli/terminal.h"

namespace attn::cli {

/// What a program's `run` may ask the shell's side for.
class Session {
 public:
  Session(const Program& program, const OptionTable& table);

  /// Where the answer goes.
  Report& report() { return report_; }
  /// For pictures in the report.
  const Terminal& terminal() const { return terminal_; }
  /// For progress on stderr.
  const Terminal& log_terminal() const { return log_terminal_; }
  const Manner& manner() const { return table_.manner; }

  /// Was this option typed?
  bool given(std::string_view option) const { return table_.given(option); }
  /// The line this run adds to the history of what it writes.
  std::string history() const { return table_.history_line(program_.name); }

  /// A line on stderr, unless -q: what is being done.
  void note(std::string_view words) const;
  /// A line on stderr, unless -q: what the user should know before believing the result.
  void warn(std::string_view words) const;
  /// What the run did, for the one line that every program ends with on stderr, unless -q; a verb
  /// and what it was done to: "sized 3 models at 4,096 tokens, f16". The last call counts.
  void did(std::string words) { done_ = std::move(words); }
  /// That line, with the outputs that are newer than `start`: "made 2 tensors; wrote case.h5, 3.1
  /// KiB". After say_no() only what was written, for the reason is its line.
  void say_what_was_done(std::filesystem::file_time_type start) const;
  /// Why the answer is no: a line on stderr, -q or not, after what stands in the report. Returns
  /// kNo.
  int say_no(std::string_view why);

 private:
  const Program& program_;
  const OptionTable& table_;
  Report report_;
  Terminal terminal_;
  Terminal log_terminal_;
  std::string done_;
};

/// The version that files and --version name.
std::string_view tool_version();

}  // namespace attn::cli
