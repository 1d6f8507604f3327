#include "bench/stopwatch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace attn {
namespace {

TEST(Stopwatch, SleepTakesWallTimeAndNoCpuTime) {
  // OpenBLAS's own threads spin for a moment after the process starts: wait until they rest.
  Elapsed elapsed;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const Stopwatch watch;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    elapsed = watch.elapsed();
    EXPECT_GE(elapsed.wall_ns, 20'000'000);
    if (elapsed.cpu_ns < 10'000'000) break;
  }
  EXPECT_LT(elapsed.cpu_ns, 10'000'000) << "sleeping should cost microseconds";
}

TEST(Stopwatch, WorkTakesCpuTime) {
  const Stopwatch watch;
  std::int64_t turns = 0;
  while (watch.elapsed().cpu_ns < 5'000'000) ++turns;
  EXPECT_GT(turns, 0);
  EXPECT_GT(watch.elapsed().wall_ns, 0);
}

TEST(Stopwatch, AddsUp) {
  Elapsed sum{1, 2};
  sum += {10, 20};
  EXPECT_EQ(sum.wall_ns, 11);
  EXPECT_EQ(sum.cpu_ns, 22);
}

}  // namespace
}  // namespace attn
