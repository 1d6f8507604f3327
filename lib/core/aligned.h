#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace attn {

/// Bytes of a cache line, and of the widest vector: one that lies across two lines takes as long to
/// load as two.
inline constexpr std::size_t kLineBytes = 64;

/// Memory at a line's begin. Much of it (from 8 MiB on) asks the system for its large pages, which
/// spares a sweep of weights the walks through page tables. Throws std::bad_alloc.
void* allocate_lines(std::size_t bytes);
void free_lines(void* memory) noexcept;

/// For std::vector: numbers that begin at a cache line.
template <class T>
struct LineAllocator {
  using value_type = T;

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>& /*other*/) {}  // NOLINT: as allocators convert

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_lines(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept { free_lines(memory); }
  bool operator==(const LineAllocator& /*other*/) const { return true; }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

/// Uninitialised bytes at a line's begin.
struct FreeLines {
  void operator()(std::byte* memory) const noexcept { free_lines(memory); }
};
using LineBytes = std::unique_ptr<std::byte[], FreeLines>;

}  // namespace attn
