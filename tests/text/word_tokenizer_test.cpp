#include "text/word_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

using ::testing::HasSubstr;

std::string refusal(const TokenizerData& data) {
  try {
    make_tokenizer(data);
  } catch (const DataError& error) {
    return error.what();
  }
  return "(accepted)";
}

std::vector<std::uint8_t> bytes(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST(WordTokenizer, FindsSpecialTokensByTheirSpelling) {
  SpecialTokens more;
  more.pad = 1;
  const WordTokenizer tokenizer("<bos> <eos> 0 1 : <mask>", more);
  EXPECT_EQ(tokenizer.vocab_size(), 6);
  EXPECT_EQ(tokenizer.specials().bos, 0);
  EXPECT_EQ(tokenizer.specials().eos, 1);
  EXPECT_EQ(tokenizer.specials().pad, 1) << "one id may have two roles";
  EXPECT_EQ(tokenizer.specials().mask, 5);
  EXPECT_EQ(tokenizer.encode(" 1\n0 <mask> : "), (std::vector<Index>{3, 2, 5, 4}));
  EXPECT_EQ(tokenizer.decode(std::vector<Index>{0, 3, 5, 4, 2, 1}), "1 : 0");
  EXPECT_EQ(tokenizer.label(5), "<mask>");
  const auto again = make_tokenizer(tokenizer.data());
  EXPECT_EQ(again->specials(), tokenizer.specials());
  EXPECT_EQ(again->encode("1 :"), (std::vector<Index>{3, 4}));
}

TEST(WordTokenizer, NamesAnUnknownWordAndItsPlace) {
  const WordTokenizer tokenizer("a b");
  try {
    tokenizer.encode("a  bb");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "word 'bb' at byte 3 is not in the vocabulary");
  }
}

TEST(WordTokenizer, RefusesDamagedData) {
  EXPECT_THAT(refusal({"words", 2, {{"vocabulary", bytes("a a")}}}), HasSubstr("'a' twice"));
  EXPECT_THAT(refusal({"words", 1, {{"vocabulary", bytes("a\xff")}}}), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal({"words", 0, {{"vocabulary", bytes(" ")}}}), HasSubstr("empty"));
  EXPECT_THAT(refusal({"words", 3, {{"vocabulary", bytes("a b")}}}), HasSubstr("holds 2 tokens"));
  SpecialTokens outside;
  outside.eos = 2;
  EXPECT_THAT(refusal({"words", 2, {{"vocabulary", bytes("a b")}}, outside}),
              HasSubstr("<eos> has the id 2"));
}

}  // namespace
}  // namespace attn
