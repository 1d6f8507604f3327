#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace attn {
namespace {

using Loop = void (*)(Index, int, IndexTask);

class Parallel : public testing::TestWithParam<Loop> {};
INSTANTIATE_TEST_SUITE_P(Loops, Parallel, testing::Values(parallel_for, parallel_shares));

TEST_P(Parallel, VisitsEachIndexOnceForAnyNumberOfThreads) {
  for (int threads : {0, 1, 2, 3, 8}) {
    std::vector<std::atomic<int>> visits(100);
    std::atomic<int> worst_worker{0};
    GetParam()(100, threads, [&](Index index, int worker) {
      ++visits[static_cast<std::size_t>(index)];
      if (worker > worst_worker) worst_worker = worker;
    });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
    EXPECT_LT(worst_worker, std::max(threads, 1));
  }
}

TEST_P(Parallel, ThrowsTheExceptionOfTheLowestIndex) {
  for (int threads : {1, 3}) {
    try {
      GetParam()(50, threads, [](Index index, int) {
        if (index >= 7) throw std::runtime_error("index " + std::to_string(index));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "index 7");
    }
  }
}

TEST_P(Parallel, NothingToDo) {
  GetParam()(0, 4, [](Index, int) { ADD_FAILURE() << "called"; });
  EXPECT_GE(available_threads(), 1);
}

// Two workers that wait for each other both have work of their own.
TEST(ParallelShares, AWorkerBeginsWithTheSameShareInEveryCall) {
  if (available_threads() < 2) GTEST_SKIP() << "one core";
  for (int call = 0; call < 3; ++call) {
    std::vector<Index> first(2, -1);  // of each worker; only its own thread writes it
    std::atomic<int> begun{0};
    parallel_shares(100, 2, [&](Index index, int worker) {
      Index& mine = first[static_cast<std::size_t>(worker)];
      if (mine >= 0) return;
      mine = index;
      ++begun;
      while (begun < 2) std::this_thread::yield();
    });
    EXPECT_EQ(first[0], 0);
    EXPECT_EQ(first[1], 50);
  }
}

}  // namespace
}  // namespace attn
