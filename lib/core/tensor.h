#pragma once

#include <utility>
#include <vector>

#include "core/matrix.h"

namespace attn {

using Shape = std::vector<Index>;

/// Row-major numbers that own their memory. Zero-filled when made.
template <class T>
struct Tensor {
  Shape shape;
  std::vector<T> values;

  Tensor() = default;
  explicit Tensor(Shape extents)
      : shape(std::move(extents)), values(static_cast<std::size_t>(count_of(shape))) {}
  Tensor(Shape extents, std::vector<T> data) : shape(std::move(extents)), values(std::move(data)) {
    require_shape(count_of(shape) == size(), "tensor: the values do not fill the shape");
  }

  Index size() const { return static_cast<Index>(values.size()); }
  Index rank() const { return static_cast<Index>(shape.size()); }
  /// Extent of one axis; -1 is the last.
  Index dim(Index axis) const {
    const Index at = axis < 0 ? axis + rank() : axis;
    require_shape(at >= 0 && at < rank(), "tensor: no such axis");
    return shape[static_cast<std::size_t>(at)];
  }
  T* data() { return values.data(); }
  const T* data() const { return values.data(); }

  /// All leading axes as rows, the last axis as columns. A scalar is 1 x 1.
  Matrix<T> matrix() { return {data(), rows(), cols()}; }
  Matrix<const T> matrix() const { return {data(), rows(), cols()}; }

 private:
  static Index count_of(const Shape& extents) {
    const auto count = checked_product(extents);
    require_shape(count.has_value(), "tensor: the number of elements leaves 63 bits");
    return *count;
  }
  Index cols() const { return shape.empty() ? 1 : shape.back(); }
  Index rows() const {
    Index count = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) count *= shape[i];
    return count;
  }
};

}  // namespace attn
