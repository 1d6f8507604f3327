#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cli/chart_canvas.h"
#include "cli/chart_ticks.h"
#include "cli/picture.h"

namespace attn::cli {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

const Terminal kNarrow{.width = 22};

Chart two_lines() {
  return {.title = "loss",
          .curves = {{"up", {0, 1, 2, 3, 4}}, {"down", {4, 3, 2, 1, 0}}},
          .x_is = "step",
          .height = 5};
}

TEST(ChartPicture, WithoutColourEachCurveHasItsMark) {
  EXPECT_EQ(chart(two_lines(), kNarrow),
            "loss\n"
            " 4 |ooo           ***\n"
            " 3 |   oooo   ****\n"
            " 2 |      *oooo\n"
            " 1 |  ****     oooo\n"
            " 0 |**             oo\n"
            "   ++---------------+\n"
            "    0               4\n"
            "  * up   o down\n"
            "  across: step\n");
}

TEST(ChartPicture, WithColourCurvesAreOfDots) {
  const Terminal terminal{.color = ColorMode::k256, .width = 14, .utf8 = true};
  const Chart one{.curves = {{"up", {0, 1}}}, .height = 2};
  const std::string blue = "\x1b[38;5;32m";
  const std::string off = "\x1b[0m";
  // Nine cells, each of two dots across and four down: from corner to corner.
  const std::string text = chart(one, terminal);
  EXPECT_THAT(text, HasSubstr(" 1 ┤"));
  EXPECT_THAT(text, HasSubstr(" 0 ┤" + blue + "⣀" + off));
  EXPECT_THAT(text, HasSubstr(blue + "⠉" + off + "\n 0 ┤"));
  EXPECT_THAT(text, HasSubstr("   └┬───────┬\n    0       1\n"));
  EXPECT_THAT(text, HasSubstr("  " + blue + "━━" + off + " up\n"));
}

TEST(ChartPicture, LogarithmicAxesOfPowersOfTwoAreNumberedByThem) {
  Chart sizes{.curves = {{"a", {1, 2, 4, 8, 16}, {1024, 2048, 4096, 8192, 16384}}},
              .log_x = true,
              .log_y = true,
              .powers_of_two = true,
              .height = 5,
              .x_tick = binary_tick,
              .y_tick = bytes_tick};
  const Terminal terminal{.width = 36};
  EXPECT_EQ(chart(sizes, terminal),
            " 16 bytes |                     ***\n"
            "  8 bytes |               ******\n"
            "  4 bytes |         ******\n"
            "  2 bytes |   ******\n"
            "   1 byte |***\n"
            "          ++----------------+------\n"
            "           1 Ki           8 Ki\n"
            "  * a\n");
}

TEST(ChartPicture, LeavesOutWhatCannotBeDrawn) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(chart({.curves = {{"none", {nan, nan}}}}, kNarrow), HasSubstr("no points"));
  EXPECT_THAT(
      chart({.curves = {{"a", {1, 10, 100}, {0, 10, 100}}}, .log_x = true, .log_y = true}, kNarrow),
      HasSubstr("10"));
}

TEST(ChartPicture, FitsTheTerminalAtAnyWidth) {
  for (const int width : {20, 33, 80, 200}) {
    const std::string text = chart(two_lines(), {.width = width});
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      EXPECT_LE(end - begin, static_cast<std::size_t>(width)) << text;
    }
  }
}

TEST(AxisTicks, AreRoundNumbersWithinTheData) {
  EXPECT_THAT(axis_ticks(0, 49, 6, AxisKind::kLinear), ElementsAre(0, 10, 20, 30, 40));
  // The largest sine sampled is 0.9999: a fiftieth is forgiven.
  EXPECT_THAT(axis_ticks(-0.9999, 0.9998, 6, AxisKind::kLinear),
              Pointwise(DoubleNear(1e-12), {-1.0, -0.5, 0.0, 0.5, 1.0}));
  EXPECT_THAT(axis_ticks(3, 3, 6, AxisKind::kLinear), ElementsAre(3));
}

TEST(AxisTicks, ArePowersOnLogarithmicAxes) {
  EXPECT_THAT(axis_ticks(128, 131072, 6, AxisKind::kLog2),
              ElementsAre(128, 512, 2048, 8192, 32768, 131072));
  EXPECT_THAT(axis_ticks(0.5, 2000, 6, AxisKind::kLog10), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(axis_ticks(3, 7, 6, AxisKind::kLog10), ElementsAre(3, 7));
}

TEST(AxisTicks, AreNeverMoreThanAskedFor) {
  for (const double high : {0.013, 1.0, 9.7, 51.0, 6e5}) {
    for (int most = 2; most < 9; ++most) {
      const auto ticks = axis_ticks(0, high, most, AxisKind::kLinear);
      EXPECT_GE(ticks.size(), 2U);
      EXPECT_LE(ticks.size(), static_cast<std::size_t>(most)) << high;
    }
  }
}

TEST(AxisTicks, OfCountsAndBytes) {
  EXPECT_EQ(binary_tick(131072), "128 Ki");
  EXPECT_EQ(binary_tick(1000), "1,000");
  EXPECT_EQ(binary_tick(2097152), "2 Mi");
  EXPECT_EQ(bytes_tick(3.0 * (1 << 30)), "3 GiB");
}

TEST(ChartCanvas, ALaterCurveTakesTheCellsItCrosses) {
  ChartCanvas canvas(5, 1, Terminal{});
  canvas.draw({{0, 0.5}, {1, 0.5}}, 0);
  canvas.draw({{0.5, 0.5}}, 1);
  EXPECT_EQ(canvas.line(0), "**o**");
}

TEST(ChartCanvas, SteepLinesOfDotsHaveNoGaps) {
  ChartCanvas canvas(1, 2, {.color = ColorMode::k256, .utf8 = true});
  canvas.draw({{0, 0}, {0, 1}}, 0);
  EXPECT_THAT(canvas.line(0), HasSubstr("⡇"));
  EXPECT_THAT(canvas.line(1), HasSubstr("⡇"));
}

}  // namespace
}  // namespace attn::cli
