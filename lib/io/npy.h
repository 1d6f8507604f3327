#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/dtype.h"
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

/// The same for numbers that are bytes already, little-endian, of any type: bf16 as ml_dtypes saves
/// it ('V2').
std::vector<std::byte> npy_bytes(const Shape& shape, DType type, std::span<const std::byte> values);

/// One text without axes, as numpy.array("...") is saved.
std::vector<std::byte> npy_text(std::string_view text);

}  // namespace attn
