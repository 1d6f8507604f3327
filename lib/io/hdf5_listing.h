#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/index.h"
#include "io/hdf5_handle.h"

namespace attn {

/// The names in one group, sorted by bytes; DataError if there are more than `most`.
std::vector<std::string> link_names(hid_t group, Index most, const std::string& label);

/// The names of an object's attributes, sorted by bytes.
std::vector<std::string> attribute_names(hid_t object, const std::string& label);

/// Whom walk_objects tells what it meets.
struct WalkEvents {
  std::function<void(const std::string& path, ObjectId object)> object;
  /// A soft, external or user-defined link, which is not followed; may be empty.
  std::function<void(const std::string& path, const std::string& target)> link;
  /// An object that cannot be opened or listed; where this is empty, the error is thrown.
  std::function<void(const std::string& path, const DataError& error)> damage;
};

/// Every object that hard links reach from the root, once each, parents before children and names
/// in order, at most 16 groups deep. Returns false when there were more than `most`.
[[nodiscard]] bool walk_objects(hid_t file, Index most, const std::string& input,
                                const WalkEvents& events);

}  // namespace attn
