#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace attn {
namespace {

TEST(Parallel, VisitsEachIndexOnceForAnyNumberOfThreads) {
  for (int threads : {0, 1, 2, 3, 8}) {
    std::vector<std::atomic<int>> visits(100);
    std::atomic<int> worst_worker{0};
    parallel_for(100, threads, [&](Index index, int worker) {
      ++visits[static_cast<std::size_t>(index)];
      if (worker > worst_worker) worst_worker = worker;
    });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
    EXPECT_LT(worst_worker, std::max(threads, 1));
  }
}

TEST(Parallel, ThrowsTheExceptionOfTheLowestIndex) {
  for (int threads : {1, 3}) {
    try {
      parallel_for(50, threads, [](Index index, int) {
        if (index >= 7) throw std::runtime_error("index " + std::to_string(index));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "index 7");
    }
  }
}

TEST(Parallel, NothingToDo) {
  parallel_for(0, 4, [](Index, int) { ADD_FAILURE() << "called"; });
  EXPECT_GE(available_threads(), 1);
}

}  // namespace
}  // namespace attn
