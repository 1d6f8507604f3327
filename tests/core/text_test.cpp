#include "core/text.h"
#include "core/counted.h"

#include <gtest/gtest.h>

#include "core/tensor.h"

namespace attn {
namespace {

TEST(Text, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(escaped("plain"), "plain");
  EXPECT_EQ(escaped("a\x1b[31mb\n"), "a\\x1b[31mb\\x0a");
  EXPECT_EQ(escaped("\xc3\xa9\xff"), "\xc3\xa9\\xff");
  EXPECT_EQ(escaped("\xc2\x9b"), "\\xc2\\x9b");
  // A right-to-left override; a euro sign is none.
  EXPECT_EQ(escaped("a\xe2\x80\xae"
                    "b"),
            "a\\xe2\\x80\\xae"
            "b");
  EXPECT_EQ(escaped("\xe2\x81\xa6\xe2\x82\xac"), "\\xe2\\x81\\xa6\xe2\x82\xac");
  EXPECT_EQ(escaped(std::string(200, 'x')), std::string(120, 'x') + "...");
}

TEST(Text, Utf8) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4U);
  EXPECT_EQ(utf8_length("\xc0\xaf"), 0U);      // overlong
  EXPECT_EQ(utf8_length("\xed\xa0\x80"), 0U);  // surrogate
  EXPECT_EQ(utf8_length("\xe2\x82"), 0U);      // cut
}

TEST(Text, SizesAsTheTutorialPrintsThem) {
  EXPECT_EQ(size_text(196608000), "187.5 MiB (196,608,000 bytes)");
  EXPECT_EQ(size_text(Index{2} << 30), "2 GiB (2,147,483,648 bytes)");
  EXPECT_EQ(size_text(512 << 10), "512 KiB (524,288 bytes)");
  EXPECT_EQ(short_size_text((Index{7} << 30) / 2), "3.5 GiB");
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(short_size_text(-1), "-1 byte");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(short_size_text((Index{1} << 20) - 1), "1 MiB");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(counted(1, "token"), "1 token");
  EXPECT_EQ(counted(2048, "token"), "2,048 tokens");
}

TEST(Text, SuggestsTheNearestWord) {
  const std::vector<std::string> known = {"layers", "kv-heads", "head-dim", "tokens"};
  EXPECT_EQ(nearest_word("layrs", known), "layers");
  EXPECT_EQ(nearest_word("kvheads", known), "kv-heads");
  EXPECT_EQ(nearest_word("head-dmi", known), "head-dim");
  EXPECT_EQ(nearest_word("lay", known), "layers");
  EXPECT_EQ(nearest_word("frobnicate", known), "");
  EXPECT_EQ(nearest_word("", known), "");
}

TEST(Tensor, ShapeAndMatrix) {
  Tensor<float> t({2, 3, 4});
  EXPECT_EQ(t.size(), 24);
  EXPECT_EQ(t.matrix().rows(), 6);
  EXPECT_EQ(t.dim(-1), 4);
  EXPECT_EQ(Tensor<float>(Shape{}).size(), 1);
  EXPECT_EQ(Tensor<float>({2, 0}).size(), 0);
  EXPECT_THROW(Tensor<float>({2, -1}), ShapeError);
  EXPECT_THROW(Tensor<float>({2, 2}, {1.0F}), ShapeError);
  EXPECT_EQ(shape_text({2, 3}), "(2, 3)");
  EXPECT_EQ(shape_text({}), "()");
  const Matrix<float> block = t.matrix().row_block(1, 2).col_block(1, 2);
  block(1, 0) = 5;
  EXPECT_EQ(t.values[2 * 4 + 1], 5.0F);
}

TEST(Text, SplitKeepsEmptyParts) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(split("a,b", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split("", ','), Parts{""});
  EXPECT_EQ(split(",a,", ','), (Parts{"", "a", ""}));
}

}  // namespace
}  // namespace attn
