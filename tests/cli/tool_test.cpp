#include "cli/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/help.h"
#include "core/error.h"

namespace attn::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Options {
  Index layers = 4;
};

void declare(OptionTable& table, Options& options) {
  table.group("Shape");
  table.count("layers", options.layers, "transformer blocks");
}

Program program() {
  return {.name = "example",
          .summary = "an example of a program",
          .examples = {{"example --layers 2", "two layers"}},
          .meaning_of_no = "the check failed",
          .versions = [] { return std::vector<std::string>{"HDF5 1.2.3"}; }};
}

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

template <class Run>
Outcome outcome(std::vector<std::string> words, Run run) {
  words.insert(words.begin(), "example");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code =
      tool_main<Options>(program(), static_cast<int>(words.size()), argv.data(), declare, run);
  std::string out = testing::internal::GetCapturedStdout();
  return {code, std::move(out), testing::internal::GetCapturedStderr()};
}

int print_layers(const Options& options, Session& session) {
  session.report().print("{}\n", options.layers);
  session.note("worked");
  return kDone;
}

TEST(ToolMain, AnswersOnStdoutAndTalksOnStderr) {
  const Outcome got = outcome({"--layers", "2"}, print_layers);
  EXPECT_EQ(got.code, kDone);
  EXPECT_EQ(got.out, "2\n");
  EXPECT_EQ(got.err, "example: worked\n");
}

TEST(ToolMain, QuietSilencesTheTalkAndNeverTheAnswer) {
  const Outcome got = outcome({"--layers", "2", "-q"}, print_layers);
  EXPECT_EQ(got.out, "2\n");
  EXPECT_EQ(got.err, "");
}

TEST(ToolMain, HelpGoesToStdoutAndWins) {
  const Outcome got = outcome({"--bogus", "--help"}, print_layers);
  EXPECT_EQ(got.code, kDone);
  EXPECT_EQ(got.err, "");
  EXPECT_THAT(got.out, StartsWith("example: an example of a program\n\nUsage: example [OPTIONS]"));
  EXPECT_THAT(got.out,
              HasSubstr("Shape:\n      --layers N           transformer blocks (default 4)"));
  EXPECT_THAT(got.out, HasSubstr("  1  the check failed\n"));
}

TEST(ToolMain, VersionBeginsWithNameAndPackage) {
  const Outcome got = outcome({"-V"}, print_layers);
  EXPECT_EQ(got.code, kDone);
  EXPECT_THAT(got.out, StartsWith("example (attntools) 0."));
  EXPECT_THAT(got.out, HasSubstr("Boost 1."));
  EXPECT_THAT(got.out, HasSubstr("HDF5 1.2.3\n"));
}

TEST(ToolMain, ABareCallThatNeedsMoreIsUsageOnStderr) {
  const Outcome got = outcome({}, print_layers);
  EXPECT_EQ(got.code, kUsage);
  EXPECT_EQ(got.out, "");
  EXPECT_THAT(got.err, StartsWith("Usage: example [OPTIONS]\n"));
}

TEST(ToolMain, TurnsErrorsIntoOneLineAndACode) {
  const auto code_of = [](auto thrower) {
    return outcome({"--layers", "2"}, [&](const Options&, Session&) -> int {
      thrower();
      return 0;
    });
  };
  const Outcome usage = code_of([] { throw UsageError("bad option", {"one", "two", "three"}); });
  EXPECT_EQ(usage.code, kUsage);
  EXPECT_EQ(usage.err, "example: bad option\n  one\n  two\n");
  const Outcome data = code_of([] { throw DataError("a.h5: no such file"); });
  EXPECT_EQ(data.code, kData);
  EXPECT_EQ(data.err, "example: a.h5: no such file\n");
  EXPECT_EQ(code_of([] { throw std::bad_alloc(); }).code, kData);
  const Outcome bug = code_of([] { throw ShapeError("gemm: inner sizes differ"); });
  EXPECT_EQ(bug.code, kInternal);
  EXPECT_THAT(bug.err, HasSubstr("please report"));
  EXPECT_EQ(code_of([] { throw std::logic_error("?"); }).code, kInternal);
}

TEST(ToolMain, TheCodeOfRunIsTheAnswer) {
  EXPECT_EQ(outcome({"--layers", "2"}, [](const Options&, Session&) { return int{kNo}; }).code,
            kNo);
}

TEST(Tool, ANoIsSaidEvenQuietlyAndAfterTheReport) {
  const Outcome got = outcome({"-q"}, [](const Options&, Session& session) {
    session.report().print("3\n");
    return session.say_no("3 is not 4");
  });
  EXPECT_EQ(got.code, 1);
  EXPECT_EQ(got.out, "3\n");
  EXPECT_EQ(got.err, "example: 3 is not 4\n");
}

TEST(Tool, WhatARunDidIsItsLastLineUnlessQuietOrItFailed) {
  const auto works = [](const Options&, Session& session) {
    session.did("began");
    session.did("counted 4 layers");
    session.report().print("4\n");
    return int{kDone};
  };
  EXPECT_EQ(outcome({"--layers", "4"}, works).out, "4\n");
  EXPECT_EQ(outcome({"--layers", "4"}, works).err, "example: counted 4 layers\n");
  EXPECT_EQ(outcome({"-q"}, works).err, "");
  const auto fails = [](const Options&, Session& session) -> int {
    session.did("counted 4 layers");
    throw DataError("a.h5: no such file");
  };
  EXPECT_EQ(outcome({"--layers", "4"}, fails).err, "example: a.h5: no such file\n");
  const auto says_no = [](const Options&, Session& session) {
    session.did("counted 4 layers");
    return session.say_no("4 is not 3");
  };
  EXPECT_EQ(outcome({"--layers", "4"}, says_no).err, "example: 4 is not 3\n");
}

TEST(Tool, VerboseSaysWhatRunsAndWhatItTook) {
  const Outcome got = outcome({"--verbose"}, print_layers);
  EXPECT_EQ(got.code, 0);
  EXPECT_EQ(got.out, "4\n");
  EXPECT_THAT(got.err, StartsWith("example: example (attntools) "));
  EXPECT_THAT(got.err, HasSubstr("example: HDF5 1.2.3\n"));
  EXPECT_THAT(got.err, testing::ContainsRegex("\nexample: worked\nexample: took [0-9.]+ s, "));
}

TEST(Tool, QuietAndVerboseContradict) {
  const Outcome got = outcome({"-q", "--verbose"}, print_layers);
  EXPECT_EQ(got.code, 2);
  EXPECT_THAT(got.err, StartsWith("example: --quiet and --verbose contradict each other\n"));
}

TEST(Help, FillsParagraphsAndLeavesTablesAlone) {
  Program wordy = program();
  wordy.notes = std::string(50, 'a') + "\n" + std::string(40, 'b') + "\nc\n  1   2\n\nd";
  const std::string text = help_text(wordy, OptionTable());
  EXPECT_THAT(text, HasSubstr("\n\n" + std::string(50, 'a') + "\n" + std::string(40, 'b') +
                              " c\n  1   2\n\nd\n\nExit status:"));
}

}  // namespace
}  // namespace attn::cli
