#include "cli/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "cli/color.h"
#include "cli/table.h"
#include "core/error.h"

namespace attn::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// Three tokens, causal; row 1 looks back, row 2 at all.
class CausalMap : public testing::Test {
 protected:
  std::vector<float> values_ = {1.0F, 9.0F, 9.0F, 0.53F, 0.47F, 9.0F, 0.04F, 0.95F, 0.01F};
  std::vector<std::uint8_t> hidden_ = {0, 1, 1, 0, 0, 1, 0, 0, 0};
  HeatMap map_{.title = "head 3",
               .values = {values_.data(), 3, 3},
               .hidden = {hidden_.data(), 3, 3},
               .row_labels = {"3", "5", "7"},
               .col_labels = {"3", "5", "7"},
               .rows_are = "query",
               .cols_are = "key"};
};

const Terminal kPlain;
const Terminal kUnicode{.utf8 = true};
const Terminal kColors{.color = ColorMode::k256, .utf8 = true};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  return plain;
}

TEST_F(CausalMap, WithoutColourIsTenthsWithTheLargestNamed) {
  EXPECT_EQ(heat_map(map_, kPlain),
            "head 3   tenths   rows: query, columns: key   . masked\n"
            "         3 5 7   argmax\n"
            "   0  3  * . .     0 (3) 1.00\n"
            "   1  5  5 5 .     0 (3) 0.53\n"
            "   2  7    *       1 (5) 0.95\n");
  EXPECT_THAT(heat_map(map_, kUnicode), HasSubstr("· masked"));
}

TEST_F(CausalMap, WithColourIsPercentInCells) {
  const std::string text = heat_map(map_, kColors);
  EXPECT_THAT(text, HasSubstr("\x1b[48;5;231m"));  // the brightest for 1.00
  const auto lines = lines_of(without_escapes(text));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[2], "   0  3  100   ·   ·     0 (3) 1.00");
  EXPECT_EQ(lines[4], "   2  7    4  95   1     1 (5) 0.95");
}

TEST_F(CausalMap, ThumbnailsStandSideBySide) {
  HeatMap other = map_;
  other.title = "head 4";
  EXPECT_EQ(heat_maps({map_, other}, kPlain),
            "head 3   head 4\n"
            "*..      *..\n"
            "55.      55.\n"
            " *        *\n"
            "tenths   rows: query, columns: key   . masked\n");
}

TEST_F(CausalMap, AMapWithOtherLabelsThanColumnsIsABug) {
  map_.col_labels.pop_back();
  EXPECT_THROW((void)heat_map(map_, kPlain), ShapeError);
}

TEST_F(CausalMap, LabelsCannotSteerTheTerminal) {
  map_.row_labels = {"\x1b[2J", " ", "é"};
  const std::string text = heat_map(map_, kPlain);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("   1        _  5 5 ."));
  EXPECT_THAT(text, HasSubstr("?    *"));
}

TEST(HeatMap, NotFiniteIsAQuestionMarkAndNeverAColour) {
  const std::vector<float> values = {std::numeric_limits<float>::quiet_NaN(), 0.5F,
                                     std::numeric_limits<float>::infinity(), 0.2F};
  const HeatMap map{.values = {values.data(), 2, 2}};
  EXPECT_THAT(heat_map(map, kPlain), HasSubstr("   0  ? 5     1 0.50\n   1  ? 2     1 0.20\n"));
  EXPECT_THAT(without_escapes(heat_map(map, kColors)), HasSubstr("   0    ?  50"));
}

TEST(HeatMap, SignedDataKeepTheirSigns) {
  const std::vector<float> values = {-1.0F, 0.5F, 0.04F, 1.0F};
  const HeatMap map{.values = {values.data(), 2, 2}, .low = -1, .high = 1, .argmax = false};
  EXPECT_EQ(heat_map(map, kPlain),
            "tenths of 1   rows: row, columns: column\n"
            "        0   1\n"
            "   0  -10   5\n"
            "   1       10\n");
  const std::string colored = heat_map(map, kColors);
  EXPECT_THAT(colored, HasSubstr("\x1b[48;5;17m"));  // blue for -1
  EXPECT_THAT(colored, HasSubstr("\x1b[48;5;52m"));  // red for 1
}

TEST(HeatMap, LargeMapsAreMaxPooledAndSaySo) {
  std::vector<float> values(100 * 200, 0.0F);
  values[57 * 200 + 133] = 1.0F;  // one bright cell must survive
  const HeatMap map{.title = "large", .values = {values.data(), 100, 200}};
  const std::string text = heat_map(map, kPlain);
  EXPECT_THAT(text, HasSubstr("each cell = max of 3 x 3"));
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 2U + 34U);
  EXPECT_EQ(lines[2 + 57 / 3].at(2 + 133 / 3), '@');
  for (const std::string& line : lines) EXPECT_LE(display_width(line), 80U);
}

TEST(HeatMap, PoolingHidesOnlyBlocksThatAreHiddenAltogether) {
  std::vector<float> values(200 * 200, 0.0F);
  std::vector<std::uint8_t> hidden(200 * 200, 0);
  for (std::size_t i = 0; i < 200; ++i) {
    for (std::size_t j = i + 1; j < 200; ++j) hidden[i * 200 + j] = 1;
  }
  const HeatMap map{.values = {values.data(), 200, 200}, .hidden = {hidden.data(), 200, 200}};
  const auto lines = lines_of(heat_map(map, kPlain));
  EXPECT_EQ(lines.at(2).substr(0, 6), "    ..");  // one visible block, then masked ones
}

TEST(HeatMap, FitsTheColumnsOfTheTerminal) {
  const std::vector<float> values(64 * 64, 0.3F);
  const HeatMap map{.title = "t", .values = {values.data(), 64, 64}};
  for (const int width : {40, 80, 300}) {
    Terminal terminal = kColors;
    terminal.width = width;
    const auto lines = lines_of(without_escapes(heat_map(map, terminal)));
    for (std::size_t i = 2; i < lines.size(); ++i) {
      EXPECT_LE(display_width(lines[i]), static_cast<std::size_t>(width));
    }
  }
}

TEST(HeatMap, HalfBlocksShowTwoRowsALine) {
  const std::vector<float> values(64 * 64, 0.3F);
  const HeatMap map{.values = {values.data(), 64, 64}};
  const std::string text = heat_map(map, kColors);
  EXPECT_EQ(lines_of(text).size(), 1U + 32U);
  EXPECT_THAT(text, HasSubstr("▀"));
}

TEST(HeatMap, SignedCellsHoldAMinusAndThreeDigits) {
  const std::vector<float> values = {-2.0F, 0.5F, 1.0F, 2.0F};
  const HeatMap map{.values = {values.data(), 2, 2}, .low = -2, .high = 2, .argmax = false};
  const auto lines = lines_of(without_escapes(heat_map(map, kColors)));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], HasSubstr("-2            2, in percent of 2"));
  EXPECT_EQ(lines[2], "   0  -100   25 ");
  EXPECT_EQ(lines[3], "   1    50  100 ");
}

TEST(HeatMap, WholeNumbersAreReadAsTheyAre) {
  const std::vector<float> values = {0, 24, 7, 16};
  const HeatMap map{.values = {values.data(), 2, 2}, .high = 24, .argmax = false};
  const auto lines = lines_of(without_escapes(heat_map(map, kColors)));
  EXPECT_THAT(lines.at(0), Not(HasSubstr("percent")));
  EXPECT_EQ(lines.at(2), "   0    0  24 ");
}

TEST(HeatMap, TheLegendNamesEveryMark) {
  const std::vector<float> values = {0.5F, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<std::uint8_t> hidden = {1, 0};
  const HeatMap map{
      .values = {values.data(), 1, 2}, .hidden = {hidden.data(), 1, 2}, .hidden_is = "-inf"};
  EXPECT_THAT(heat_map(map, kPlain), HasSubstr("   . -inf   ? not finite\n"));
}

TEST(HeatMaps, GroupsStandTogetherUnderTheirNames) {
  const std::vector<float> values = {1.0F, 0.0F, 0.3F, 0.7F};
  std::vector<HeatMap> maps;
  for (const char* group : {"block 0", "block 1"}) {
    for (const char* head : {"head 0", "head 1", "head 2"}) {
      maps.push_back({.title = head, .group = group, .values = {values.data(), 2, 2}});
    }
  }
  Terminal narrow = kPlain;
  narrow.width = 20;  // two beside each other
  EXPECT_EQ(heat_maps(maps, narrow),
            "block 0\n"
            "head 0   head 1\n"
            "*        *\n"
            "37       37\n"
            "\n"
            "head 2\n"
            "*\n"
            "37\n"
            "\n"
            "block 1\n"
            "head 0   head 1\n"
            "*        *\n"
            "37       37\n"
            "\n"
            "head 2\n"
            "*\n"
            "37\n"
            "tenths\n"
            "  rows: row, columns: column\n");
  EXPECT_THAT(heat_maps({maps.front()}, kPlain), HasSubstr("block 0 head 0   tenths"));
}

TEST(HeatMaps, AMapThatIsSquareStaysSo) {
  const std::vector<float> values(62 * 62, 0.5F);
  const HeatMap map{.title = "a", .values = {values.data(), 62, 62}};
  EXPECT_THAT(heat_maps({map, map}, kColors), HasSubstr("each cell = max of 2 x 2"));
}

TEST(HeatMap, SignedDataArePooledByMagnitudeAndKeepTheirSigns) {
  std::vector<float> values(100 * 100, 0.2F);
  values[0] = -1.0F;  // beside a value of 0.2 it wins
  const HeatMap map{.values = {values.data(), 100, 100}, .low = -1, .high = 1, .argmax = false};
  const std::string text = heat_map(map, kColors);
  EXPECT_THAT(text, HasSubstr("each cell = largest magnitude of 2 x 2"));
  EXPECT_THAT(text, HasSubstr("\x1b[38;5;17m"));  // the darkest blue, in the first half block
}

TEST(HeatMap, TrueColourIsTheExactRamp) {
  const std::vector<float> values = {0.0F, 1.0F};
  const Terminal terminal{.color = ColorMode::kTrueColor, .utf8 = true};
  const std::string text = heat_map({.values = {values.data(), 1, 2}}, terminal);
  EXPECT_THAT(text, HasSubstr("\x1b[48;2;68;1;84m"));     // viridis at 0
  EXPECT_THAT(text, HasSubstr("\x1b[48;2;253;231;37m"));  // and at 1
}

TEST(Ramps, GetBrighterAlongTheWay) {
  double before = -1;
  for (int i = 0; i <= 100; ++i) {
    const Rgb c = ramp_color(Ramp::kSequential, i / 100.0);
    const double light = 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue;
    EXPECT_GE(light, before);
    before = light;
  }
}

}  // namespace
}  // namespace attn::cli
