#include "cli/session.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cli/exit_code.h"
#include "core/text.h"

namespace attn::cli {
namespace {

// With `-o -` the HDF5 is the answer and has stdout for itself.
std::FILE* report_stream(const OptionTable& table) {
  const Option* output = table.find("output");
  const std::string_view name =
      output == nullptr || output->given().empty() ? "" : std::string_view(output->given().front());
  const bool taken = name == "-" || name == "/dev/stdout";
  if (!taken) return stdout;
  return table.manner.quiet ? nullptr : stderr;
}

// A stderr that was closed is no reason to fail: nobody wants the words.
void say(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// "table.h5, 13.1 KiB"; nothing for a file that this run did not write.
std::string written_text(const std::string& name, std::filesystem::file_time_type start) {
  if (name == "-" || name == "/dev/stdout") return "to stdout";
  std::error_code error;
  const auto status = std::filesystem::status(name, error);
  if (error || !std::filesystem::exists(status)) return "";
  if (!std::filesystem::is_regular_file(status)) return escaped(name);
  const auto time = std::filesystem::last_write_time(name, error);
  if (error || time < start) return "";
  const auto bytes = static_cast<Index>(std::filesystem::file_size(name, error));
  return error ? escaped(name) : fmt::format("{}, {}", escaped(name), short_size_text(bytes));
}

}  // namespace

Session::Session(const Program& program, const OptionTable& table)
    : program_(program),
      table_(table),
      report_(report_stream(table)),
      terminal_(detect_terminal(report_stream(table) == stdout ? STDOUT_FILENO : STDERR_FILENO,
                                table.manner.color)),
      log_terminal_(detect_terminal(STDERR_FILENO, table.manner.color)) {}

void Session::note(std::string_view words) const {
  if (!table_.manner.quiet) say(fmt::format("{}: {}\n", program_.name, words));
}

void Session::warn(std::string_view words) const {
  if (!table_.manner.quiet) say(fmt::format("{}: warning: {}\n", program_.name, words));
}

void Session::say_what_was_done(std::filesystem::file_time_type start) const {
  if (manner().quiet) return;
  std::string words = done_;
  const char* before = "wrote ";
  for (const Option* option : table_.outputs()) {
    for (const std::string& name : option->given()) {
      const std::string one = written_text(name, start);
      if (one.empty()) continue;
      words += fmt::format("{}{}{}", words.empty() ? "" : "; ", before, one);
      before = "";
    }
  }
  if (!words.empty()) note(words);
}

int Session::say_no(std::string_view why) {
  report_.flush();
  done_.clear();
  say(fmt::format("{}: {}\n", program_.name, why));
  return kNo;
}

std::string_view tool_version() {
  return ATTNTOOLS_VERSION;
}

}  // namespace attn::cli
