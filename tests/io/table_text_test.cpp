#include "io/table_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace attn {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

template <class T>
std::span<const T> view(const std::vector<T>& values) {
  return values;
}

TEST(TableText, ShortestDigitsThatReadBack) {
  EXPECT_EQ(number_text(0.1F), "0.1");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1e30F), "1e+30");
  EXPECT_EQ(number_text(-0.0F), "-0");
  EXPECT_EQ(number_text(-kNan), "nan");
  EXPECT_EQ(number_text(-kInf), "-inf");
  EXPECT_EQ(number_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(number_text(std::uint8_t{65}), "65");
}

TEST(TableText, RowsAndColumns) {
  const std::vector<float> values = {1, 2.5F, 3, 4, 5, kNan};
  EXPECT_EQ(table_text({2, 3}, view(values)), "1\t2.5\t3\n4\t5\tnan\n");
  EXPECT_EQ(table_text({1, 2, 3}, view(values)), "1\t2.5\t3\n4\t5\tnan\n");
  EXPECT_EQ(table_text({6}, view(values)), "1\n2.5\n3\n4\n5\nnan\n");
  EXPECT_EQ(table_text(Shape{}, view<double>({2.0})), "2\n");
  TableStyle style;
  style.separator = ',';
  style.title = "/x";
  style.columns = {"a", "b", "c"};
  EXPECT_EQ(table_text({2, 3}, view(values), style), "# /x\n# a,b,c\n1,2.5,3\n4,5,nan\n");
  style.long_form = true;
  EXPECT_EQ(table_text({1, 2}, view<std::int32_t>({7, 8}), style),
            "# /x\n# i,j,value\n0,0,7\n0,1,8\n");
  EXPECT_EQ(table_text({2, 0}, std::span<const float>()), "");
}

TEST(JsonValues, NestedAsTheShape) {
  EXPECT_EQ(json_values({2, 2}, view<double>({1, 2.5, -3, 0})), "[[1,2.5],[-3,0]]");
  EXPECT_EQ(json_values(Shape{}, view<double>({3.25})), "3.25");
  EXPECT_EQ(json_values({2, 0, 4}, std::span<const double>()), "[[],[]]");
  EXPECT_EQ(json_values({3}, view<float>({kNan, kInf, -kInf})), "[null,null,null]");
  // A reader of JSON makes doubles: it must get the float's value, not a shorter neighbour.
  const auto parsed = nlohmann::json::parse(json_values({1}, view<float>({0.1F})));
  EXPECT_EQ(parsed[0].get<double>(), static_cast<double>(0.1F));
}

}  // namespace
}  // namespace attn
