#include "io/table_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/npy.h"
#include "io/readable_text.h"
#include "io/tensor_summary.h"

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

TEST(Npy, HeaderAndData) {
  const Tensor<float> tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<std::byte> bytes = npy_bytes(tensor);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(text.substr(10, 58), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), ");
  const std::size_t header = 10 + static_cast<unsigned char>(text[8]);
  EXPECT_EQ(header % 64, 0U);
  EXPECT_EQ(text[header - 1], '\n');
  EXPECT_EQ(bytes.size(), header + 24);
  EXPECT_EQ(std::memcmp(bytes.data() + header, tensor.data(), 24), 0);
  const auto head = [](const Shape& shape, auto values) {
    const auto made = npy_bytes(shape, view(values));
    return std::string(reinterpret_cast<const char*>(made.data()) + 10, 70);
  };
  EXPECT_NE(head({1}, std::vector<std::int64_t>{5}).find("'<i8'"), std::string::npos);
  EXPECT_NE(head({1}, std::vector<std::int64_t>{5}).find("'shape': (1,), "), std::string::npos);
  EXPECT_NE(head({}, std::vector<std::uint8_t>{5}).find("'|u1'"), std::string::npos);
  EXPECT_NE(head({}, std::vector<std::uint8_t>{5}).find("'shape': (), "), std::string::npos);
}

TEST(ReadableText, AlignsAndLabels) {
  EXPECT_EQ(readable_text({2, 2}, view<float>({1, -2.5F, 100, 0.123456789F})),
            "    1      -2.5\n"
            "  100  0.123457\n");
  EXPECT_EQ(readable_text({2, 1, 2}, view<std::int32_t>({1, 2, 3, 4})),
            "[0]\n  1  2\n[1]\n  3  4\n");
  EXPECT_EQ(readable_text(Shape{}, view<double>({3.25})), "  3.25\n");
  EXPECT_EQ(readable_text({0}, std::span<const double>()), "");
}

TEST(ReadableText, LargeTensorsShowTheirEnds) {
  std::vector<std::int32_t> values(2000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i);
  EXPECT_EQ(readable_text({2000}, view(values)),
            "  0  1  2  ...  1997  1998  1999\n(shortened: --all shows all 2,000 numbers)\n");
  EXPECT_EQ(readable_text({10, 200, 1}, view(values), {.all = false, .most = 1000, .edge = 1}),
            "[0]\n    0\n  ...\n  199\n...\n[9]\n  1800\n   ...\n  1999\n"
            "(shortened: --all shows all 2,000 numbers)\n");
  const std::string all = readable_text({2000}, view(values), {.all = true});
  EXPECT_EQ(all.find("..."), std::string::npos);
}

TEST(TensorSummary, CountsAndFindsWhatIsNotFinite) {
  const std::vector<float> values = {1, 2, 3, kNan, -kInf, kInf, kNan, 4};
  const TensorSummary s = summarize({2, 4}, view(values));
  EXPECT_EQ(s.count, 8);
  EXPECT_EQ(s.finite(), 4);
  EXPECT_EQ(s.nan, 2);
  EXPECT_EQ(s.plus_inf, 1);
  EXPECT_EQ(s.minus_inf, 1);
  EXPECT_EQ(s.first_nonfinite, (Shape{0, 3}));
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 4);
  EXPECT_DOUBLE_EQ(s.mean, 2.5);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(1.25));
}

TEST(TensorSummary, NothingFinite) {
  const TensorSummary s = summarize({1}, view<double>({std::nan("")}));
  EXPECT_EQ(s.finite(), 0);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(summarize({0}, std::span<const double>()).first_nonfinite, std::nullopt);
}

}  // namespace
}  // namespace attn
