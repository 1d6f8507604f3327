#pragma once

#include <string>
#include <vector>

#include "cli/option_table.h"
#include "core/index.h"

namespace attn::cli {

// Options that several programs have: one meaning, one spelling, one default. A program declares
// those it takes.

enum class Format { kText, kTsv, kCsv, kJson, kJsonLines, kMarkdown, kNpy };

/// -i/--input FILE or the one operand; `-` is stdin.
Option& input_option(OptionTable& table, std::string& field,
                     std::string help = "file to read, - for stdin");

/// -o/--output FILE; `-` is stdout, and the report then goes to stderr.
Option& output_option(OptionTable& table, std::string& field,
                      std::string help = "HDF5 file to write, - for stdout");

/// --format and --json for the report, with the formats the program has. npy is refused on a
/// terminal and beside `-o -`; --show, where the program has it, beside any format but text.
void format_options(OptionTable& table, Format& field, const std::vector<Format>& offered);

/// --show, --color, --no-color.
void show_options(OptionTable& table, bool& field,
                  std::string help = "draw a picture in the terminal");

/// --no-progress.
void progress_option(OptionTable& table);

/// --seed N, 0 unless given.
Option& seed_option(OptionTable& table, Index& field);

/// --threads N; the default is what the field holds: all cores.
Option& threads_option(OptionTable& table, Index& field);

/// --dataset PATH.
Option& dataset_option(OptionTable& table, std::string& field,
                       std::string help = "which dataset to read, a path such as /x");

/// --max-bytes SIZE: what reading may take; 4 GiB unless given.
inline constexpr Index kDefaultMaxBytes = Index{4} << 30;
Option& max_bytes_option(OptionTable& table, Index& field);

}  // namespace attn::cli
