#pragma once

#include <string>

#include "core/dtype.h"
#include "core/tensor.h"

namespace attn {

/// A dataset as its header describes it; no number has been read.
struct DatasetInfo {
  std::string path;       ///< from the root, "/parameters/tokens.weight"
  Shape shape;            ///< empty for a scalar
  DType type = {};        ///< the stored type, or the nearest that holds it
  std::string type_name;  ///< as messages print it: "f32", "big-endian f64", "80-bit float"
  Index size = 0;         ///< number of elements
};

}  // namespace attn
