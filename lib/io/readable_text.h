#pragma once

#include <span>
#include <string>

#include "core/tensor.h"

namespace attn {

struct ReadableStyle {
  bool all = false;              ///< leave nothing out
  Index most = 1000;             ///< with more numbers than this, long axes show only their ends
  Index edge = 3;                ///< so many at each end
  std::string whole = "it has";  ///< the words before the count: how to see what was left out
};

/// A tensor for people to look at: columns aligned, six significant digits, a line "[i, j]" above
/// each matrix of a tensor with more than two axes. Says at its end when numbers were left out.
/// T: float, double, int64, uint64, int32 or uint8.
template <class T>
std::string readable_text(const Shape& shape, std::span<const T> values,
                          const ReadableStyle& style = {});

}  // namespace attn
