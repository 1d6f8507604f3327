#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/matrix.h"

namespace attn {

/// Bump memory for one pass: views are made and given back together, when a Scope ends. After
/// the first pass of its kind an arena allocates nothing. Not for several threads at once.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Uninitialised, 64-byte aligned numbers.
  template <class T>
  T* allocate(Index count) {
    static_assert(std::is_trivially_destructible_v<T>);
    require_shape(count >= 0, "arena: negative count");
    return static_cast<T*>(bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  /// An uninitialised matrix.
  template <class T>
  Matrix<T> matrix(Index rows, Index cols) {
    return {allocate<T>(rows * cols), rows, cols};
  }
  /// A matrix of zeros.
  template <class T>
  Matrix<T> zeros(Index rows, Index cols) {
    Matrix<T> made = matrix<T>(rows, cols);
    for (Index i = 0; i < made.size(); ++i) made.data()[i] = T{0};
    return made;
  }

  /// Gives back, when it ends, all that was made since it began.
  class Scope {
   public:
    explicit Scope(Arena& arena)
        : arena_(arena), block_(arena.block_), used_(arena.used_), in_use_(arena.in_use_) {}
    ~Scope() { arena_.rewind(block_, used_, in_use_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    std::size_t block_;
    std::size_t used_;
    std::size_t in_use_;
  };

  /// Bytes reserved from the system, and the most that were ever in use at once.
  std::size_t reserved_bytes() const;
  std::size_t peak_bytes() const { return peak_; }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::byte* start;
    std::size_t size;
  };
  void* bytes(std::size_t count);
  void rewind(std::size_t block, std::size_t used, std::size_t in_use);

  std::vector<Block> blocks_;
  std::size_t block_ = 0;   // index of the block being filled
  std::size_t used_ = 0;    // bytes used in it
  std::size_t in_use_ = 0;  // bytes used in all
  std::size_t peak_ = 0;
};

}  // namespace attn
