#pragma once

#include <hdf5.h>

#include <cstddef>

namespace attn {

/// The memory in which HDF5's core driver builds a file. It grows with the file and stays when the
/// file is closed, so that its bytes are ours without a copy.
class GrowingMemory {
 public:
  GrowingMemory() = default;
  ~GrowingMemory();
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;

  /// For core_driver_access; this must outlive the file.
  H5FD_file_image_callbacks_t callbacks();

  /// The bytes of the closed file, from now on the caller's, to be given back with std::free.
  [[nodiscard]] std::byte* take();

 private:
  static void* grow(void* data, std::size_t size, H5FD_file_image_op_t op, void* self);

  void* data_ = nullptr;
};

}  // namespace attn
