#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "train/batch_gradient.h"
#include "train/progressions.h"

// Counts what this whole test program takes from the heap. Clang's thread sanitizer brings an
// operator new of its own.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ATTNTOOLS_FOREIGN_NEW
#endif
#endif

#ifndef ATTNTOOLS_FOREIGN_NEW

namespace {

std::atomic<long> allocations{0};

}  // namespace

// Not inlined: GCC would see a pointer of operator new reach free.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* made = std::malloc(size == 0 ? 1 : size)) return made;
  throw std::bad_alloc();
}
// What std::stable_sort takes its buffer by; freed by the two below as well.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* made) noexcept {
  std::free(made);
}
[[gnu::noinline]] void operator delete(void* made, std::size_t) noexcept {
  std::free(made);
}

namespace attn {
namespace {

ModelConfig small(Position position) {
  ModelConfig config;
  config.dim = 16;
  config.kv_heads = 2;
  config.position = position;
  config.max_positions = 12;
  return config;
}

TEST(BatchGradient, AfterTheFirstStepNothingIsAllocated) {
  for (const Position position : {Position::kSinusoidal, Position::kLearned, Position::kRope,
                                  Position::kAlibi, Position::kNone}) {
    Transformer<float> model(small(position));
    model.params().initialise(1);
    const Progressions data(1);
    const Batch first = data.training_batch(0, 500);
    const Batch second = data.training_batch(1, 500);
    std::vector<float> gradients(static_cast<std::size_t>(model.params().size()));
    BatchGradient<float> gradient(model, 1);
    const long before = allocations;
    gradient.compute(first, gradients.data());
    const long between = allocations;
    EXPECT_GT(between, before);
    gradient.compute(second, gradients.data());
    EXPECT_EQ(allocations, between) << enum_name(position);
  }
}

}  // namespace
}  // namespace attn

#endif  // ATTNTOOLS_FOREIGN_NEW
