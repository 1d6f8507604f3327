#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace attn {

/// A NumPy .npy file, format version 1.0, little-endian, C order. T: float, double, int64, uint64,
/// int32 or uint8.
template <class T>
std::vector<std::byte> npy_bytes(const Shape& shape, std::span<const T> values);

template <class T>
std::vector<std::byte> npy_bytes(const Tensor<T>& tensor) {
  return npy_bytes(tensor.shape, std::span<const T>(tensor.values));
}

}  // namespace attn
