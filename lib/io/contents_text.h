#pragma once

#include <string>

#include "io/hdf5_contents.h"

namespace attn {

/// "/x (2, 3) f32, /y (4) i64, and 5 more".
std::string datasets_text(const FileContents& contents);

/// The path of the one dataset of numbers, apart from dimension scales; DataError that names what
/// there is when there are more or none. `input` is what messages call the file; `advice` tells how
/// one of several is chosen.
std::string only_dataset_of(const FileContents& contents, const std::string& input,
                            const std::string& advice);

/// Ends a search: "FILE: no dataset /x; it has ...".
[[noreturn]] void fail_missing_dataset(const std::string& path, const std::string& held,
                                       const std::string& input);

}  // namespace attn
