#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/hdf5_handle.h"

namespace attn {

/// "x//y/" -> "/x/y".
std::string clean_path(std::string_view path);

/// Opens the object at a path, link by link; nothing where a name on the way does not exist.
/// Throws DataError for links that leave the file, lead nowhere or in circles, and for damage.
std::optional<ObjectId> find_object(hid_t file, std::string_view path, const std::string& input);

/// Access properties that follow at most 8 soft links and never an external one.
const PropertyId& safe_links();

}  // namespace attn
