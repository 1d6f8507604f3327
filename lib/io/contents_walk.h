#pragma once

#include <span>
#include <string>

#include "io/hdf5_contents.h"
#include "io/hdf5_handle.h"

namespace attn {

/// Looks at every object of an open file, at most `most`, following no link that is not hard.
/// What is damaged is listed as such, and the walk goes on. Only for a child process with limits
/// (child_process.h): listing reaches more of the library than reading one dataset.
FileContents walk_contents(hid_t file, std::span<const std::byte> image, Index most,
                           Index max_bytes);

/// The contents as bytes for a pipe between parent and child, and back. `unpack` throws DataError
/// for bytes that are cut short.
std::string pack(const FileContents& contents);
FileContents unpack(const std::string& bytes);

}  // namespace attn
