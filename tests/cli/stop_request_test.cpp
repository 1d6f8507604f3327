#include "cli/stop_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "cli/signals.h"
#include "core/error.h"

namespace attn::cli {
namespace {

TEST(StopRequest, NotesTheFirstSignalAndGoesOn) {
  const StopRequest stop;
  EXPECT_FALSE(stop);
  EXPECT_STREQ(stop.name(), "");
  stop.obey();  // nothing to obey
  raise(SIGTERM);
  EXPECT_TRUE(stop);
  EXPECT_EQ(stop.signal(), SIGTERM);
  EXPECT_STREQ(stop.name(), "SIGTERM");
}

TEST(StopRequest, ForgetsItForTheNext) {
  {
    const StopRequest stop;
    raise(SIGINT);
    EXPECT_THROW(StopRequest(), ShapeError);
  }
  EXPECT_FALSE(StopRequest());
}

TEST(StopRequest, LeavesIgnoredSignalsIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  const StopRequest stop;
  raise(SIGHUP);
  EXPECT_FALSE(stop);
  std::signal(SIGHUP, SIG_DFL);
}

using StopRequestDeathTest = testing::Test;

void say_cleaned() {
  std::fputs("cleaned\n", stderr);
}

TEST(StopRequestDeathTest, ObeyingDiesOfTheSignal) {
  EXPECT_EXIT(
      {
        const StopRequest stop;
        raise(SIGTERM);
        stop.obey();
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopRequestDeathTest, TheSecondSignalEndsAtOnceAndCleansUp) {
  EXPECT_EXIT(
      {
        install_signal_handlers();
        on_interrupt(say_cleaned);
        const StopRequest stop;
        raise(SIGINT);
        raise(SIGTERM);
        std::exit(0);
      },
      testing::KilledBySignal(SIGTERM), "cleaned");
}

TEST(StopRequestDeathTest, WithoutOneASignalKillsAsBefore) {
  EXPECT_EXIT(
      {
        install_signal_handlers();
        { const StopRequest stop; }
        raise(SIGINT);
        std::exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace attn::cli
