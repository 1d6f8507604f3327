#include "cli/tool.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "cli/command_line.h"
#include "cli/help.h"
#include "cli/option_dump.h"
#include "cli/signals.h"
#include "core/error.h"
#include "core/text.h"

namespace attn::cli {
namespace {

void print_error(const Program& program, const std::string& what,
                 const std::vector<std::string>& hints = {}) {
  constexpr std::size_t kMostHints = 2;
  std::string text = fmt::format("{}: {}\n", program.name, what);
  for (std::size_t i = 0; i < std::min(hints.size(), kMostHints); ++i) {
    text += fmt::format("  {}\n", hints[i]);
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void declare_manner(OptionTable& table, bool& help, bool& version) {
  table.group("Common options");
  table.flag("quiet", table.manner.quiet, "say nothing on stderr but errors")
      .letter('q')
      .not_data();
  table.flag("verbose", table.manner.verbose, "say on stderr what runs, and what it took")
      .not_data();
  table.flag("help", help, "print this help").letter('h').not_data();
  table.flag("version", version, "print the version and what it was built with")
      .letter('V')
      .not_data();
  table.check([&table] {
    if (table.manner.quiet && table.manner.verbose) {
      throw UsageError("--quiet and --verbose contradict each other");
    }
  });
}

// What --verbose adds before the work ...
void note_versions(const Program& program, const Session& session) {
  const std::string versions = version_text(program);
  for (const std::string_view line : split(versions, '\n')) {
    if (!line.empty()) session.note(line);
  }
}

// ... and after it.
void note_costs(const Session& session, std::chrono::steady_clock::time_point start) {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  session.note(fmt::format("took {:.3f} s, {:.3f} s of all threads, and {} of memory at most",
                           elapsed.count(), seconds(used.ru_utime) + seconds(used.ru_stime),
                           short_size_text(Index{used.ru_maxrss} * 1024)));
}

int parse_and_run(const Program& program, OptionTable& table, const std::vector<std::string>& words,
                  const std::function<int(Session&)>& run) {
  bool help = false;
  bool version = false;
  declare_manner(table, help, version);
  Report out(stdout);
  if (words == std::vector<std::string>{"--dump-options"}) {  // for the shells' completion
    out.write(option_dump(table));
    out.flush();
    return kDone;
  }
  CommandLine command_line(table);
  if (command_line.asks_for(words, "help")) {
    out.write(help_text(program, table));
    out.flush();
    return kDone;
  }
  if (command_line.asks_for(words, "version")) {
    out.write(version_text(program));
    out.flush();
    return kDone;
  }
  if (words.empty() && !program.bare_call_works) {
    const std::string text = usage_text(program);
    std::fwrite(text.data(), 1, text.size(), stderr);
    return kUsage;
  }
  command_line.parse(words);
  Session session(program, table);
  const auto start = std::chrono::steady_clock::now();
  if (table.manner.verbose) note_versions(program, session);
  // File systems stamp files by a clock that ticks a few times in a hundredth of a second.
  const auto file_start =
      std::filesystem::file_time_type::clock::now() - std::chrono::milliseconds(50);
  const int code = run(session);
  session.report().flush();
  out.flush();
  session.say_what_was_done(file_start);
  if (table.manner.verbose) note_costs(session, start);
  return code;
}

}  // namespace

int run_tool(const Program& program, OptionTable& table, int argc, char** argv,
             const std::function<int(Session&)>& run) {
  open_standard_streams();
  install_signal_handlers();
  try {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    return parse_and_run(program, table, words, run);
  } catch (const UsageError& error) {
    std::vector<std::string> hints = error.hints();
    if (hints.empty())
      hints.push_back(fmt::format("'{} --help' explains the options", program.name));
    print_error(program, error.what(), hints);
    return kUsage;
  } catch (const DataError& error) {
    print_error(program, error.what(), error.hints());
    return kData;
  } catch (const std::bad_alloc&) {
    print_error(program, "out of memory");
    return kData;
  } catch (const std::length_error&) {  // a vector longer than any memory
    print_error(program, "out of memory");
    return kData;
  } catch (const std::system_error& error) {
    print_error(program, error.what());
    return kData;
  } catch (const std::exception& error) {
    print_error(program, fmt::format("internal error: {}", error.what()),
                {"this is a bug in the program: please report it with the command that shows it"});
    return kInternal;
  }
}

}  // namespace attn::cli
