#pragma once

#include <string>

#include "core/index.h"
#include "sizing/cache_spec.h"

namespace attn {

/// What a file says a model caches, by what it is: a checkpoint of this project (HDF5), a GGUF file
/// (its header alone is read), or a config.json; "-" is stdin. `assume` is a family for a
/// configuration that is not understood, or empty. Throws DataError that names the file.
CacheSpec read_shape_file(const std::string& argument, const std::string& assume, Index max_bytes);

/// The first bytes of a file, at most `most`; nothing for "-" and for what is no regular file.
std::string file_start(const std::string& argument, std::size_t most);

}  // namespace attn
