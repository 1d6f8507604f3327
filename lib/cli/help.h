#pragma once

#include <string>

#include "cli/option_table.h"
#include "cli/program.h"

namespace attn::cli {

/// What --help prints: summary, usage, examples, options by group, exit codes.
std::string help_text(const Program& program, const OptionTable& table);

/// What a bare call prints: usage, one example, where to read more.
std::string usage_text(const Program& program);

/// What --version prints; the first line is "name (attntools) 0.1.0".
std::string version_text(const Program& program);

}  // namespace attn::cli
