#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace attn {
namespace {

using Loop = void (*)(Index, int, IndexTask);

// The same loop on workers that are awake.
template <Loop loop>
void awake(Index count, int threads, IndexTask task) {
  keep_workers_awake(threads, [=] { loop(count, threads, task); });
}

class Parallel : public testing::TestWithParam<Loop> {};
INSTANTIATE_TEST_SUITE_P(Loops, Parallel,
                         testing::Values(parallel_for, parallel_shares, awake<parallel_for>,
                                         awake<parallel_shares>));

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

TEST_P(Parallel, ALoopInATaskIsItsWorkersOwn) {
  for (int threads : {2, 5}) {
    std::vector<std::atomic<int>> visits(30);
    GetParam()(6, threads, [&](Index outer, int) {
      const auto caller = std::this_thread::get_id();
      keep_workers_awake(threads, [&] {
        parallel_for(5, threads, [&](Index inner, int worker) {
          EXPECT_EQ(std::this_thread::get_id(), caller);
          EXPECT_EQ(worker, 0);
          ++visits[static_cast<std::size_t>(outer * 5 + inner)];
        });
      });
    });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
}

TEST(KeepWorkersAwake, LoopsFollowEachOtherWithAnyNumberOfThreads) {
  for (int threads : {1, 2, 7}) {  // 7: more than cores, on most machines
    std::vector<Index> numbers(40, 1);
    keep_workers_awake(threads, [&] {
      for (int round = 0; round < 20; ++round) {
        parallel_for(40, threads, [&](Index i, int) { numbers[static_cast<std::size_t>(i)] *= 3; });
        numbers[0] += 2;  // the caller's own work between two loops
        parallel_shares(40, 2, [&](Index i, int) { numbers[static_cast<std::size_t>(i)] %= 1009; });
      }
    });
    Index first = 1;
    Index other = 1;
    for (int round = 0; round < 20; ++round) {
      first = (first * 3 + 2) % 1009;
      other = other * 3 % 1009;
    }
    EXPECT_EQ(numbers[0], first);
    for (std::size_t i = 1; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], other);
  }
}

TEST(KeepWorkersAwake, WhatWorkThrowsComesOutAndLaterCallsGoOn) {
  for (int call = 0; call < 2; ++call) {
    int loops = 0;
    const auto work = [&] {
      for (; loops < 3; ++loops) {
        parallel_for(8, 3, [&](Index i, int) {
          if (loops == 2 && i >= 4) throw std::runtime_error("index " + std::to_string(i));
        });
      }
    };
    try {
      keep_workers_awake(3, work);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "index 4");
    }
    EXPECT_EQ(loops, 2);
  }
  std::atomic<int> visits{0};
  parallel_for(9, 3, [&](Index, int) { ++visits; });
  EXPECT_EQ(visits, 9);
}

TEST(KeepWorkersAwake, AWorkerIsTheSameThreadInAllLoops) {
  constexpr int kThreads = 3;
  std::vector<std::thread::id> threads(kThreads);
  keep_workers_awake(kThreads, [&] {
    for (int loop = 0; loop < 20; ++loop) {
      parallel_for(60, kThreads, [&](Index, int worker) {
        std::thread::id& mine = threads[static_cast<std::size_t>(worker)];
        if (mine == std::thread::id()) mine = std::this_thread::get_id();
        EXPECT_EQ(mine, std::this_thread::get_id());
      });
    }
  });
  EXPECT_EQ(threads[0], std::this_thread::get_id());
}

// Two workers that wait for each other both have work of their own.
TEST(ParallelShares, AWorkerBeginsWithTheSameShareInEveryCall) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int call = 0; call < 3; ++call) {
    std::vector<Index> first(2, -1);  // of each worker; only its own thread writes it
    std::atomic<int> begun{0};
    parallel_shares(100, 2, [&](Index index, int worker) {
      Index& mine = first[static_cast<std::size_t>(worker)];
      if (mine >= 0) return;
      mine = index;
      ++begun;
      while (begun < 2 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
    });
    EXPECT_EQ(first[0], 0);
    EXPECT_EQ(first[1], 50);
  }
}

}  // namespace
}  // namespace attn
