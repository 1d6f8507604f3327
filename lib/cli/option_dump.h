#pragma once

#include <string>

#include "cli/option_table.h"

namespace attn::cli {

/// The table for the completion of shells, what the hidden --dump-options prints: a line for each
/// option, in the order of the help, its fields separated by tabs:
///   --name  -l  kind  once|many  ARGUMENT  words  help
/// "-" stands where there is no short form, argument or word. `kind` is what the value is: flag
/// (there is none), file, folder, number, word (one of the words, or among others one of them),
/// words (some of them between commas), value (anything, a file as well).
std::string option_dump(const OptionTable& table);

}  // namespace attn::cli
