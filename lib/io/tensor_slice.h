#pragma once

#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "io/tensor_file.h"

namespace attn {

/// A part of a tensor: of each axis some indices, or one, and the axis is gone.
class TensorSlice {
 public:
  /// All of it.
  explicit TensorSlice(const Shape& shape);
  /// As NumPy writes it: "0,:,3:5", "::2", "-1". One entry for each axis, from the first on; axes
  /// that are not named are taken whole. Throws UsageError for what is no slice of this shape,
  /// also for a range that leaves its axis.
  static TensorSlice parse(std::string_view text, const Shape& shape);

  /// What is left.
  Shape shape() const;
  /// The place in the whole tensor of a place in the part.
  Shape source(const Shape& part) const;

  /// Reads no more rows of the first axis than the slice spans.
  template <class T>
  Tensor<T> read(const TensorFile& file, std::string_view path) const;

 private:
  struct Axis {
    Index start = 0;
    Index count = 0;
    Index step = 1;
    bool gone = false;
  };
  static Axis parse_axis(std::string_view entry, std::size_t axis, Index extent);

  Shape whole_;
  std::vector<Axis> axes_;
};

}  // namespace attn
