// What attention takes beside its inputs and outputs: a few MiB, whatever the length.

#include <gtest/gtest.h>

#include "ops/attend.h"
#include "ops/ops_test_support.h"

namespace attn {
namespace {

constexpr Index kHeadDim = 64;

// The most bytes in use at once while one causal head runs forward and, where wanted, backward.
std::size_t peak_bytes(Index n, bool backward) {
  const HeadShape shape{1, 1, kHeadDim, kHeadDim};
  const auto q = random_tensor<float>({n, kHeadDim}, 1);
  const auto k = random_tensor<float>({n, kHeadDim}, 2);
  const auto v = random_tensor<float>({n, kHeadDim}, 3);
  Tensor<float> out({n, kHeadDim});
  std::vector<float> lse(static_cast<std::size_t>(n));
  AttendMask<float> mask;
  mask.causal = true;
  Arena arena;
  const KvRun<float> kv{k.matrix(), v.matrix()};
  attend<float>(shape, q.matrix(), {&kv, 1}, mask, out.matrix(), {.lse = lse.data()}, arena);
  if (backward) {
    Tensor<float> d_q({n, kHeadDim}), d_k({n, kHeadDim}), d_v({n, kHeadDim});
    attend_backward<float>(shape, q.matrix(), k.matrix(), v.matrix(), mask, out.matrix(),
                           lse.data(), q.matrix(), d_q.matrix(), d_k.matrix(), d_v.matrix(), arena);
  }
  return arena.peak_bytes();
}

// The n x n table of one head would be 16 MiB at 2048 tokens and 64 MiB at 4096.
TEST(AttendMemory, IsBelowFourMebibytesAThread) {
  for (const bool backward : {false, true}) {
    EXPECT_LE(peak_bytes(4096, backward), std::size_t{4} << 20) << "backward " << backward;
  }
}

TEST(AttendMemory, GrowsNoFasterThanTheLength) {
  for (const bool backward : {false, true}) {
    const std::size_t half = peak_bytes(1024, backward);
    EXPECT_LE(peak_bytes(2048, backward), 2 * half) << "backward " << backward;
  }
}

}  // namespace
}  // namespace attn
