#pragma once

#include <string>

#include "cli/common_options.h"
#include "io/hdf5_contents.h"

namespace attn {

/// What a file holds, as tensor-show --list writes it: objects with their attributes (text, json),
/// or a row for each object (tsv, csv).
std::string list_report(const FileContents& contents, cli::Format format);

}  // namespace attn
