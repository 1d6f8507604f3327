#include "io/growing_memory.h"

#include <cstdlib>
#include <utility>

namespace attn {
namespace {

void* no_memory(std::size_t /*size*/, H5FD_file_image_op_t /*op*/, void* /*self*/) {
  return nullptr;
}
void* no_copy(void* /*to*/, const void* /*from*/, std::size_t /*size*/, H5FD_file_image_op_t /*op*/,
              void* /*self*/) {
  return nullptr;
}
herr_t keep(void* /*data*/, H5FD_file_image_op_t /*op*/, void* /*self*/) {
  return 0;
}

}  // namespace

GrowingMemory::~GrowingMemory() {
  std::free(data_);
}

H5FD_file_image_callbacks_t GrowingMemory::callbacks() {
  return {no_memory, no_copy, grow, keep, nullptr, nullptr, this};
}

std::byte* GrowingMemory::take() {
  return static_cast<std::byte*>(std::exchange(data_, nullptr));
}

void* GrowingMemory::grow(void* /*data*/, std::size_t size, H5FD_file_image_op_t /*op*/,
                          void* self) {
  auto* memory = static_cast<GrowingMemory*>(self);
  void* larger = std::realloc(memory->data_, size);
  if (larger != nullptr) memory->data_ = larger;
  return larger;
}

}  // namespace attn
