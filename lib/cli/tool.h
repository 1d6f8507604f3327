#pragma once

#include <functional>

#include "cli/exit_code.h"
#include "cli/option_table.h"
#include "cli/program.h"
#include "cli/session.h"

namespace attn::cli {

/// The part of tool_main that does not depend on the type of the options.
int run_tool(const Program& program, OptionTable& table, int argc, char** argv,
             const std::function<int(Session&)>& run);

/// Everything that programs would otherwise each do, and each get wrong once: options into
/// fields, help and version, errors to one line on stderr and an exit code, stdout checked before
/// leaving, signals. The four parts of a program are
///   struct Options {...};                                        fields with defaults
///   void declare(cli::OptionTable& table, Options& options)      what the options are
///   int run(const Options& options, cli::Session& session)       the work; returns an ExitCode
///   int main(int argc, char** argv) { return cli::tool_main<Options>({...}, argc, argv, declare,
///   run); }
/// `-q --verbose -V -h` are added to every table.
template <class Options, class Declare, class Run>
int tool_main(const Program& program, int argc, char** argv, Declare declare, Run run) {
  Options options;
  OptionTable table;
  declare(table, options);
  return run_tool(program, table, argc, argv,
                  [&](Session& session) { return run(options, session); });
}

}  // namespace attn::cli
