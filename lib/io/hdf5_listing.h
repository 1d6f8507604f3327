#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/index.h"
#include "io/hdf5_handle.h"

namespace attn {

/// The names in one group, sorted by bytes; DataError if there are more than `most`.
std::vector<std::string> link_names(hid_t group, Index most, const std::string& label);

/// The names of an object's attributes, in the library's name order.
std::vector<std::string> attribute_names(hid_t object, const std::string& label);

/// Every object that hard links reach from the root, once each, parents before children and names
/// in order: path and open object. At most `most` objects, 16 groups deep. Soft and external links
/// are not followed.
void walk_objects(hid_t file, Index most, const std::string& input,
                  const std::function<void(const std::string&, ObjectId)>& visit);

}  // namespace attn
