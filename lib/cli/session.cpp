#include "cli/session.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "cli/exit_code.h"

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

int Session::say_no(std::string_view why) {
  report_.flush();
  say(fmt::format("{}: {}\n", program_.name, why));
  return kNo;
}

std::string_view tool_version() {
  return ATTNTOOLS_VERSION;
}

}  // namespace attn::cli
