#include "cli/number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/error.h"

namespace attn::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ParseCount, ReadsPlainBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_count("4096", "--n"), 4096);
  EXPECT_EQ(parse_count("4Ki", "--n"), 4096);
  EXPECT_EQ(parse_count("4k", "--n"), 4000);
  EXPECT_EQ(parse_count("4K", "--n"), 4000);
  EXPECT_EQ(parse_count("2Mi", "--n"), 2097152);
  EXPECT_EQ(parse_count("1T", "--n"), 1'000'000'000'000);
}

TEST(ParseCount, NegativeNumbersAreOutOfRangeAndNotFourBillion) {
  EXPECT_EQ(message([] { parse_count("-1", "--layers"); }), "--layers must be 1 or more: -1");
  EXPECT_EQ(message([] { parse_count("9", "--rank", {0, 8}); }), "--rank must be 0 to 8: 9");
}

TEST(ParseCount, RefusesWhatIsNoWholeNumber) {
  for (const char* text : {"0x10", " 8", "8 ", "eight", "3.5", "4kk", "4kB", "+4", "1e3"}) {
    EXPECT_THAT(message([&] { parse_count(text, "--n"); }), HasSubstr("--n wants a whole number"))
        << text;
  }
  EXPECT_EQ(message([] { parse_count("", "--n"); }), "--n has an empty value");
}

TEST(ParseCount, RefusesWhatLeavesSixtyThreeBits) {
  EXPECT_EQ(parse_count("9223372036854775807", "--n"), 9223372036854775807);
  EXPECT_EQ(message([] { parse_count("9223372036854775808", "--n"); }),
            "--n is too large: 9223372036854775808 leaves 63 bits");
  EXPECT_EQ(message([] { parse_count("9000000000000Mi", "--n"); }),
            "--n is too large: 9000000000000Mi leaves 63 bits");
}

TEST(ParseCounts, ReadsListsAndRanges) {
  EXPECT_THAT(parse_counts("512,1024", "--n"), ElementsAre(512, 1024));
  EXPECT_THAT(parse_counts("1-4", "--n"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(parse_counts("16-64+16", "--n"), ElementsAre(16, 32, 48, 64));
  EXPECT_THAT(parse_counts("128-1Ki*2", "--n"), ElementsAre(128, 256, 512, 1024));
  EXPECT_THAT(parse_counts("3-10*2", "--n"), ElementsAre(3, 6));
  EXPECT_THAT(parse_counts("32,8,1,2-3", "--n"), ElementsAre(32, 8, 1, 2, 3));
}

TEST(ParseCounts, StopsAtTheEndOfTheNumbers) {
  EXPECT_THAT(parse_counts("4611686018427387904-9223372036854775807*2", "--n"),
              ElementsAre(4611686018427387904));
}

TEST(ParseCounts, RefusesRangesThatNeverEndAndListsThatAreTooLong) {
  EXPECT_THAT(message([] { parse_counts("8-1", "--n"); }), HasSubstr("a range goes up"));
  EXPECT_THAT(message([] { parse_counts("1-8*1", "--n"); }), HasSubstr("must grow"));
  EXPECT_THAT(message([] { parse_counts("1-8+0", "--n"); }), HasSubstr("must grow"));
  EXPECT_THAT(message([] { parse_counts("0-8*2", "--n", {0}); }), HasSubstr("must grow"));
  EXPECT_THAT(message([] { parse_counts("1-1T", "--n"); }),
              HasSubstr("more than 10,000,000 values"));
  EXPECT_THAT(message([] { parse_counts("1,,2", "--n"); }),
              HasSubstr("a comma with nothing beside it: 1,,2"));
  EXPECT_EQ(message([] { parse_counts("1-", "--n"); }),
            "--n: a range needs an end, such as 16-64: 1-");
  EXPECT_EQ(message([] { parse_counts("1-+2", "--n"); }),
            "--n: a range needs an end, such as 16-64: 1-+2");
  EXPECT_EQ(message([] { parse_counts("1-8*", "--n"); }),
            "--n: a range needs a number behind its *: 1-8*");
  EXPECT_THAT(message([] { parse_counts("-2", "--n"); }), HasSubstr("1 or more: -2"));
  EXPECT_THAT(message([] { parse_counts("-2--1", "--n"); }), HasSubstr("1 or more: -2"));
}

TEST(ParseSize, ReadsFractionsOfUnits) {
  EXPECT_EQ(parse_size("640", "--m"), 640);
  EXPECT_EQ(parse_size("4GiB", "--m"), Index{4} << 30);
  EXPECT_EQ(parse_size("1.5Gi", "--m"), 1610612736);
  EXPECT_EQ(parse_size("2kB", "--m"), 2000);
  EXPECT_THAT(message([] { parse_size("B", "--m"); }), HasSubstr("wants a size"));
  EXPECT_THAT(message([] { parse_size("1.5Q", "--m"); }), HasSubstr("wants a size"));
  EXPECT_THAT(message([] { parse_size("nan", "--m"); }), HasSubstr("wants a size"));
  EXPECT_THAT(message([] { parse_size("99999999999.5Ti", "--m"); }), HasSubstr("too large"));
  EXPECT_EQ(parse_size("8E", "--m"), 8'000'000'000'000'000'000);
  EXPECT_EQ(parse_size("7PiB", "--m"), Index{7} << 50);
  EXPECT_EQ(message([] { parse_size("8EiB", "--m"); }), "--m is too large: 8EiB leaves 63 bits");
  EXPECT_EQ(message([] { parse_size("8X", "--m"); }),
            "--m wants a size such as 512MiB or 1.5GiB: '8X'");
}

TEST(ParseReal, WantsFiniteNumbersWithAPoint) {
  EXPECT_EQ(parse_real("0.003", "--lr"), 0.003);
  EXPECT_EQ(parse_real("-1e-3", "--lr"), -0.001);
  EXPECT_THAT(message([] { parse_real("nan", "--lr"); }), HasSubstr("--lr must be finite"));
  EXPECT_THAT(message([] { parse_real("inf", "--lr"); }), HasSubstr("--lr must be finite"));
  EXPECT_THAT(message([] { parse_real("0,003", "--lr"); }), HasSubstr("wants a number"));
  EXPECT_THAT(message([] { parse_real("1e999", "--lr"); }), HasSubstr("out of range"));
  const RealLimits positive{0.0, 1.0, true, false};
  EXPECT_EQ(message([&] { parse_real("0", "--lr", positive); }), "--lr must be more than 0: 0");
  EXPECT_EQ(message([&] { parse_real("2", "--lr", positive); }), "--lr must be at most 1: 2");
}

}  // namespace
}  // namespace attn::cli
