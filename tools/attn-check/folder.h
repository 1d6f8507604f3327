#pragma once

#include "attn-check/options.h"
#include "cli/session.h"

namespace attn {

/// True where a path is a folder.
bool is_folder(const std::string& path);

/// Checks every case of a folder and gives one verdict: a line for each, and the names of mistakes
/// that fit all that fail. Passes where every file has an output and each passes.
int run_folder(const CheckOptions& options, cli::Session& session);

}  // namespace attn
