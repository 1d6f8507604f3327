#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/tensor_set.h"

namespace attn {

/// One word of tensor-make's command line.
struct TensorItem {
  enum class Kind { kTensor, kAttribute, kFile };
  Kind kind = Kind::kTensor;
  std::string object;  // path of the tensor, or of what carries the attribute
  std::string name;    // of an attribute
  std::string value;
  std::optional<DType> type;
  std::optional<Shape> shape;
  enum class As { kLooks, kInt, kReal, kText } as = As::kLooks;  // an attribute
};

/// Takes the words apart. UsageError for what is none of the forms, and for a name given twice.
std::vector<TensorItem> parse_items(const std::vector<std::string>& words);

/// The files that they read, "-" among them.
std::vector<std::string> files_of(const std::vector<TensorItem>& items);

/// The history's line: the items in order, files as base names.
std::string history_of(const std::vector<TensorItem>& items);

/// Reads an item into the set; returns the history of a whole file.
std::string add_item(const TensorItem& item, const ReadLimits& limits, TensorSet& set,
                     std::vector<std::string>& left_out);

}  // namespace attn
