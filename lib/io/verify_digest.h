#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/index.h"

namespace attn {

/// Holds an image to the digests it carries; one without them is taken as it is. Where every byte
/// is as it was written, the library is not asked. Otherwise the content may still be the same, in
/// a file that was repacked: a child process looks, because what differs may as well be damage.
/// Throws DataError for a file that has changed.
void verify_digest(std::span<const std::byte> image, const std::string& name, Index max_bytes);

}  // namespace attn
