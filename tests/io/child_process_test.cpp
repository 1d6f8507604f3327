#include "io/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>
#include <stdexcept>
#include <vector>

#include "io/crash_guard.h"
#include "support/address_space.h"

namespace attn {
namespace {

TEST(ChildProcess, HandsOverItsAnswer) {
  const std::string large(1000000, 'x');
  const ChildAnswer answer = run_in_child([&] { return large; });
  EXPECT_EQ(answer.trouble, "");
  EXPECT_EQ(answer.text, large);
}

TEST(ChildProcess, TroubleStaysInTheChild) {
  EXPECT_EQ(run_in_child([]() -> std::string { throw std::runtime_error("x"); }).trouble, "failed");
  EXPECT_EQ(run_in_child([]() -> std::string {
              signal(SIGSEGV, SIG_DFL);
              raise(SIGSEGV);
              return "";
            }).trouble,
            "crashed");
  EXPECT_EQ(run_in_child(
                []() -> std::string {
                  volatile bool forever = true;
                  while (forever) {
                  }
                  return "";
                },
                {.cpu_seconds = 1})
                .trouble,
            "took too long");
  EXPECT_NE(run_in_child([] { return std::string(1000000, 'x'); }, {.answer_bytes = 1000}).trouble,
            "");
}

// A sanitizer maps more than any limit, so none is set under one.
#if !defined(ATTNTOOLS_ASAN) && !defined(ATTNTOOLS_TSAN)
TEST(ChildProcess, MemoryIsLimited) {
  if (!address_space_can_be_limited()) GTEST_SKIP() << "limits of address space are not kept here";
  const ChildAnswer answer = run_in_child([] {
    const std::vector<char> flood(std::size_t{4} << 30);
    return std::string(flood.data(), 1);
  });
  EXPECT_EQ(answer.trouble, "failed");
}

TEST(CrashGuardDeathTest, CrashIsOneLineAndExit3) {
  EXPECT_EXIT(
      {
        enter_crash_guard("some\nfile.h5");
        raise(SIGSEGV);
      },
      ::testing::ExitedWithCode(3),
      "io_test: some.x0afile.h5: the HDF5 library crashed while reading it");
}

int deeper(int depth) {
  volatile char frame[4096] = {static_cast<char>(depth)};
  return depth < 0 ? 0 : deeper(depth + 1) + frame[0];
}

TEST(CrashGuardDeathTest, ExhaustedStackToo) {
  EXPECT_EXIT(
      {
        enter_crash_guard("deep.h5");
        _exit(deeper(1));
      },
      ::testing::ExitedWithCode(3), "deep.h5: the HDF5 library crashed");
}

TEST(CrashGuardDeathTest, EndlessWorkEndsToo) {
  EXPECT_EXIT(
      {
        enter_crash_guard("round.h5", 1);
        for (volatile int turn = 0;;) turn = turn + 1;
      },
      ::testing::ExitedWithCode(3), "round.h5: the HDF5 library does not come to an end with it");
}

TEST(CrashGuardDeathTest, LeavingEndsItsPatience) {
  EXPECT_EXIT(
      {
        enter_crash_guard("a", 1);
        leave_crash_guard();
        const std::clock_t start = std::clock();
        while (std::clock() - start < 3 * CLOCKS_PER_SEC / 2) continue;
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(CrashGuardDeathTest, OutsideItACrashIsACrash) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        enter_crash_guard("a");
        enter_crash_guard("a");
        leave_crash_guard();
        leave_crash_guard();
        raise(SIGSEGV);
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}
#endif

}  // namespace
}  // namespace attn
