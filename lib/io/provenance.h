#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/index.h"
#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"
#include "io/tensor_file.h"

namespace attn {

/// Where a file comes from, as root attributes: `format`, `format_version`, `tool_version`, `seed`
/// where one was used, and `history`, one line for each program that touched the data. No dates,
/// host names or paths: the same command writes the same bytes.
struct Provenance {
  std::string format = "attntools-tensors";  ///< or attntools-checkpoint, attntools-bench
  Index format_version = 1;
  std::optional<Index> seed;
  std::string command;          ///< this program's line: its name and the options that matter
  std::string earlier_history;  ///< the input's, from read_history()
};

/// Writes the attributes.
void write_provenance(Hdf5Writer& writer, const Provenance& provenance);

/// The `history` of an input; empty where it has none.
std::string read_history(const Hdf5Reader& reader);
std::string read_history(const TensorFile& file);

/// `earlier` with one line more. What would leave 32 KiB loses its oldest lines, and its first line
/// then says "(N earlier lines left out)".
std::string extended_history(std::string_view earlier, std::string_view line);

}  // namespace attn
