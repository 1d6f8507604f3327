#include "core/aligned.h"

#include <algorithm>
#include <cstdlib>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace attn {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr std::size_t kWorthLargePages = std::size_t{8} << 20;

}  // namespace

void* allocate_lines(std::size_t bytes) {
  const std::size_t step = bytes >= kWorthLargePages ? kLargePage : kLineBytes;
  if (bytes > static_cast<std::size_t>(-1) - step) throw std::bad_alloc();
  const std::size_t whole = std::max((bytes + step - 1) / step, std::size_t{1}) * step;
  void* const memory = std::aligned_alloc(step, whole);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef __linux__
  // A wish: without large pages the memory is as good, and slower.
  if (step == kLargePage) madvise(memory, whole, MADV_HUGEPAGE);
#endif
  return memory;
}

void free_lines(void* memory) noexcept {
  std::free(memory);
}

}  // namespace attn
