#include "text/byte_tokenizer.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

TEST(ByteTokenizer, TakesAnyBytesAndGivesThemBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.vocab_size(), 256);
  const std::vector<Index> ids = tokenizer.encode(all);
  for (Index byte = 0; byte < 256; ++byte) EXPECT_EQ(ids[static_cast<std::size_t>(byte)], byte);
  EXPECT_EQ(tokenizer.decode(ids), all);
  EXPECT_THROW(tokenizer.decode(std::vector<Index>{256}), ShapeError);
}

TEST(ByteTokenizer, LabelsArePrintable) {
  const ByteTokenizer tokenizer;
  EXPECT_EQ(tokenizer.label('a'), "a");
  EXPECT_EQ(tokenizer.label('\n'), "\\n");
  EXPECT_EQ(tokenizer.label(0), "\\x00");
  EXPECT_EQ(tokenizer.label(0xc3), "\\xc3");
}

TEST(ByteTokenizer, SpecialTokensFollowTheBytes) {
  SpecialTokens specials;
  specials.bos = 256;
  specials.eos = 257;
  specials.pad = 257;
  specials.mask = 258;
  const ByteTokenizer tokenizer(specials);
  EXPECT_EQ(tokenizer.vocab_size(), 259);
  EXPECT_EQ(tokenizer.label(257), "<eos>");
  EXPECT_EQ(tokenizer.decode(std::vector<Index>{256, 'a', 258, 'b', 257}), "ab");
  EXPECT_EQ(tokenizer.encode("<mask>").size(), 6U);
  EXPECT_EQ(tokenizer.encode_with_specials("a<mask>b<x<eos>"),
            (std::vector<Index>{'a', 258, 'b', '<', 'x', 257}));
  const auto again = make_tokenizer(tokenizer.data());
  EXPECT_EQ(again->vocab_size(), 259);
  EXPECT_EQ(again->specials(), specials);
}

TEST(ByteTokenizer, RefusesIdsThatAreNothing) {
  SpecialTokens gap;
  gap.mask = 300;
  EXPECT_THROW(ByteTokenizer{gap}, DataError);
  SpecialTokens negative;
  negative.mask = -1;
  EXPECT_THROW(ByteTokenizer{negative}, DataError);
  EXPECT_THROW(make_tokenizer({"bytes", 255, {}}), DataError);
}

}  // namespace
}  // namespace attn
