#include "cli/progress.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace attn::cli {
namespace {

// What a progress of 40 steps writes in a style.
std::string written(Progress::Style style, int width) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  {
    Progress progress(stream, style, width, 40, "step");
    for (Index step = 1; step <= 40; ++step) progress.update(step, "loss 0.2");
  }
  std::fclose(stream);
  std::string all(text, size);
  std::free(text);
  return all;
}

TEST(Progress, ALogGetsALineEachTenth) {
  const std::string log = written(Progress::Style::kLines, 80);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 10);
  EXPECT_EQ(log.find('\r'), std::string::npos);
  EXPECT_EQ(log.substr(0, log.find('\n')), "step 4/40  loss 0.2  eta 0:00");
}

TEST(Progress, ATerminalLineIsRewrittenWithinItsWidthAndEnds) {
  const std::string live = written(Progress::Style::kLive, 24);
  EXPECT_EQ(live.front(), '\r');
  EXPECT_EQ(live.back(), '\n');
  EXPECT_EQ(live.find('\r', 1), 24U);  // 23 columns of text, one left free
  EXPECT_NE(live.find("step 40/40  loss 0.2"), std::string::npos);
}

// What `drive` makes a progress of 40 steps write, 20 of which an earlier run did.
template <class Drive>
std::string resumed(Progress::Style style, Drive drive) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  {
    Progress progress(stream, style, 24, 40, "step", 20);
    drive(progress);
  }
  std::fclose(stream);
  std::string all(text, size);
  std::free(text);
  return all;
}

TEST(Progress, AResumedRunCountsOnlyItsOwnTenths) {
  const std::string log = resumed(Progress::Style::kLines, [](Progress& progress) {
    for (Index step = 21; step <= 40; ++step) progress.update(step);
  });
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 5);
  EXPECT_EQ(log.substr(0, log.find(' ', 5)), "step 24/40");
}

TEST(Progress, ALineThatStaysIsWrittenOverTheOneThatIsRewritten) {
  const std::string live = resumed(Progress::Style::kLive, [](Progress& progress) {
    progress.update(40, "loss 0.2");
    progress.say("eval");
  });
  EXPECT_EQ(live, "\rstep 40/40  loss 0.2   \r" + std::string(23, ' ') + "\reval\n");
  const std::string log =
      resumed(Progress::Style::kLines, [](Progress& progress) { progress.say("eval"); });
  EXPECT_EQ(log, "eval\n");
}

TEST(Progress, WhatIsOverInAMomentNeedsNoWord) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  {
    Progress progress(stream, Progress::Style::kLive, 80, 40, "file", 0, std::chrono::hours(1));
    for (Index file = 1; file <= 40; ++file) progress.update(file);
  }
  std::fclose(stream);
  EXPECT_EQ(std::string(text, size), "");
  std::free(text);
}

TEST(Progress, QuietWritesNothing) {
  EXPECT_EQ(written(Progress::Style::kNone, 80), "");
}

}  // namespace
}  // namespace attn::cli
