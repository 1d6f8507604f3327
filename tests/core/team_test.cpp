#include "core/team.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace attn {
namespace {

// Waiting workers spin, or sleep at once.
class TeamOfThree : public testing::TestWithParam<bool> {
 protected:
  TeamOfThree() : team_(GetParam()) {
    team_.open(3);
    for (int worker : {1, 2}) threads_.emplace_back([this, worker] { team_.serve(worker); });
  }
  ~TeamOfThree() override {
    team_.close();
    for (std::thread& thread : threads_) thread.join();
  }

  Team team_;
  std::vector<std::thread> threads_;
};
INSTANTIATE_TEST_SUITE_P(Waits, TeamOfThree, testing::Bool());

TEST_P(TeamOfThree, EachWorkerTakesItsPartOfEachLoopAndRunWaitsForAll) {
  std::vector<int> parts(3, 0);  // plain numbers: run hands them over and back
  for (int loop = 1; loop <= 200; ++loop) {
    team_.run(3, [&](int worker, int workers) {
      EXPECT_EQ(workers, 3);
      ++parts[static_cast<std::size_t>(worker)];
    });
    EXPECT_EQ(parts, std::vector<int>(3, loop));
  }
}

TEST_P(TeamOfThree, WorkersBeyondThoseAskedForStayOut) {
  std::vector<int> parts(3, 0);
  team_.run(2, [&](int worker, int workers) {
    EXPECT_EQ(workers, 2);
    ++parts[static_cast<std::size_t>(worker)];
  });
  EXPECT_EQ(parts, (std::vector<int>{1, 1, 0}));
  team_.run(5, [&](int worker, int workers) {
    EXPECT_EQ(workers, 3);
    ++parts[static_cast<std::size_t>(worker)];
  });
  EXPECT_EQ(parts, (std::vector<int>{2, 2, 1}));
}

TEST_P(TeamOfThree, WhoHasWaitedLongIsThereForTheNextLoop) {
  std::vector<int> parts(3, 0);
  const auto count = [&](int worker, int) { ++parts[static_cast<std::size_t>(worker)]; };
  team_.run(3, count);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // by now they sleep
  team_.run(3, count);
  // And who has to wait long for a worker.
  team_.run(3, [&](int worker, int) {
    if (worker == 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    count(worker, 0);
  });
  EXPECT_EQ(parts, std::vector<int>(3, 3));
}

}  // namespace
}  // namespace attn
