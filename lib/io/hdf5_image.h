#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/hdf5_handle.h"

namespace attn {

/// True where HDF5's signature stands at the start or after a user block.
bool has_signature(std::span<const std::byte> bytes);

/// Looks at the bytes before the library does: the signature (at 0, 512, 1024, 2048, ...), the end
/// of file that the superblock declares, and what follows it. Throws DataError for what is not
/// HDF5, is cut short, or is followed by a second image.
void check_image(std::span<const std::byte> bytes, const std::string& name);

/// Opens the bytes in place: nothing is copied, and they must outlive the file.
FileId open_image(std::span<const std::byte> bytes, const std::string& name);

}  // namespace attn
