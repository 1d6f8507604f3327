#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/tensor.h"

namespace attn {

/// A tensor that is to be written.
struct SafetensorsTensor {
  std::string name;
  Shape shape;
};

/// Builds a safetensors file in memory, its tensors in the order given, its header padded with
/// blanks so that the data are aligned, `__metadata__` as PyTorch's files have it. The same calls
/// give the same bytes.
class SafetensorsWriter {
 public:
  /// All tensors have one type: F32, F16 or BF16. Takes the memory of the whole file.
  SafetensorsWriter(const std::vector<SafetensorsTensor>& tensors, DType type);

  /// The numbers of the next tensor, in order, rounded to the type. DataError that names it where
  /// one is too large for the type or not finite.
  void write(const float* values);

  /// The whole file. Throws ShapeError while tensors are missing.
  std::vector<std::byte> finish();

 private:
  std::vector<SafetensorsTensor> tensors_;
  DType type_;
  std::vector<std::byte> bytes_;
  std::size_t next_ = 0;   // in tensors_
  std::size_t place_ = 0;  // in bytes_
};

}  // namespace attn
