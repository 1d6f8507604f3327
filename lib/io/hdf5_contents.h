#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace attn {

/// One thing that a file holds. All texts are the file's own: escape them before printing.
struct ObjectInfo {
  std::string path;
  std::string kind;            ///< "group", "dataset", "link" (type then tells where to), "damaged"
  std::string type;            ///< "f32", "string", "compound" ...; for "damaged" what is wrong
  std::optional<Shape> shape;  ///< of datasets
  bool readable = false;       ///< a dataset of numbers that Hdf5Reader::read takes
  std::vector<std::pair<std::string, std::string>> attributes;  ///< name and value as text
};

/// What kind of value an attribute holds, where it is one; several values are kOther.
enum class AttributeKind { kInteger, kReal, kText, kOther };

struct FileContents {
  std::vector<ObjectInfo> objects;  ///< parents first, names in order
  bool complete = true;             ///< false where a limit cut the list
};

}  // namespace attn
