#include "io/readable_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace attn {
namespace {

template <class T>
std::span<const T> view(const std::vector<T>& values) {
  return values;
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
            "  0  1  2  ...  1997  1998  1999\n(shortened: it has 2,000 numbers)\n");
  EXPECT_EQ(readable_text({10, 200, 1}, view(values), {.all = false, .most = 1000, .edge = 1}),
            "[0]\n    0\n  ...\n  199\n...\n[9]\n  1800\n   ...\n  1999\n"
            "(shortened: it has 2,000 numbers)\n");
  const std::string all = readable_text({2000}, view(values), {.all = true});
  EXPECT_EQ(all.find("..."), std::string::npos);
}

}  // namespace
}  // namespace attn
