#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "text/char_tokenizer.h"
#include "text/id_tokenizer.h"

namespace attn {
namespace {

using ::testing::HasSubstr;

template <class Failure>
std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "(nothing was thrown)";
}

TEST(CharTokenizer, OrdersCharactersByCodePoint) {
  const auto tokenizer = CharTokenizer::from_text("b\na é€𝄞a", "t");
  EXPECT_EQ(tokenizer->vocab_size(), 7);
  EXPECT_EQ(tokenizer->encode("\n ab"), (std::vector<Index>{0, 1, 2, 3}));
  EXPECT_EQ(tokenizer->encode("𝄞€é"), (std::vector<Index>{6, 5, 4}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("é b𝄞")), "é b𝄞");
  EXPECT_EQ(tokenizer->label(0), "\\n");
  EXPECT_EQ(tokenizer->label(6), "𝄞");
  const Index outside = 7;
  EXPECT_THROW(tokenizer->decode(std::span(&outside, 1)), ShapeError);
}

TEST(CharTokenizer, NamesTheByteOfInvalidUtf8) {
  EXPECT_EQ(message<DataError>([] { CharTokenizer::from_text("ab\xff", "book.txt"); }),
            "book.txt: invalid UTF-8 at byte 2 (0xff)");
  EXPECT_THAT(message<DataError>([] { CharTokenizer::from_text("\xc3", "book.txt"); }),
              HasSubstr("at byte 0"))
      << "cut in the middle of a character";
  EXPECT_THAT(message<DataError>([] { CharTokenizer::from_text("", "book.txt"); }),
              HasSubstr("book.txt: the text is empty"));
}

TEST(CharTokenizer, NamesAnUnknownCharacterItsCodePointAndItsPlace) {
  const auto tokenizer = CharTokenizer::from_text("abc", "t");
  EXPECT_EQ(message<UsageError>([&] { tokenizer->encode("ab€"); }),
            "character '€' (U+20AC) at byte 2 is not in the vocabulary");
  EXPECT_EQ(message<UsageError>([&] { tokenizer->encode("a\x1b"); }),
            "character '\\x1b' (U+001B) at byte 1 is not in the vocabulary");
  EXPECT_THAT(message<UsageError>([&] { tokenizer->encode("a\xe2\x82"); }),
              HasSubstr("invalid UTF-8 at byte 1"));
}

TEST(CharTokenizer, HasSpecialTokensBeforeAndAfterTheCharacters) {
  SpecialTokens specials;
  specials.bos = 0;
  specials.eos = 1;
  specials.mask = 5;
  const CharTokenizer tokenizer("ab€", specials, 2);
  EXPECT_EQ(tokenizer.vocab_size(), 6);
  EXPECT_EQ(tokenizer.encode("€a"), (std::vector<Index>{4, 2}));
  EXPECT_EQ(tokenizer.encode_with_specials("a<mask>b"), (std::vector<Index>{2, 5, 3}));
  EXPECT_EQ(tokenizer.decode(std::vector<Index>{0, 2, 5, 4, 1}), "a€");
  EXPECT_EQ(tokenizer.label(5), "<mask>");
  EXPECT_EQ(message<UsageError>([&] { tokenizer.encode_with_specials("<bos>ax"); }),
            "character 'x' (U+0078) at byte 6 is not in the vocabulary")
      << "bytes count from the beginning of what was typed";
  const auto again = make_tokenizer(tokenizer.data());
  EXPECT_EQ(again->specials(), specials);
  EXPECT_EQ(again->encode("€a"), tokenizer.encode("€a"));
}

TEST(CharTokenizer, ACharacterMayBeginAndEnd) {
  SpecialTokens specials;
  specials.bos = 0;
  specials.eos = 0;
  const CharTokenizer tokenizer("\nab", specials);
  EXPECT_EQ(tokenizer.vocab_size(), 3);
  EXPECT_TRUE(tokenizer.is_text(0));
  EXPECT_EQ(tokenizer.label(0), "\\n");
  EXPECT_EQ(tokenizer.decode(std::vector<Index>{0, 1, 0}), "\na\n");
}

TEST(IdTokenizer, ReadsNumbersBetweenBlanksOrCommas) {
  const IdTokenizer tokenizer(10);
  EXPECT_EQ(tokenizer.encode(" 3 5,7\t9\n"), (std::vector<Index>{3, 5, 7, 9}));
  EXPECT_TRUE(tokenizer.encode("  ").empty());
  EXPECT_EQ(tokenizer.decode(std::vector<Index>{7, 9, 1}), "7 9 1");
  EXPECT_EQ(tokenizer.label(4), "4");
  EXPECT_THAT(message<UsageError>([&] { tokenizer.encode("3 x5"); }),
              HasSubstr("'x5' at byte 2 is not a token id"));
  for (const char* outside : {"10", "-1", "99999999999999999999"}) {
    EXPECT_THAT(message<UsageError>([&] { tokenizer.encode(outside); }),
                HasSubstr("is not in the vocabulary: 0 to 9"))
        << outside;
  }
  EXPECT_THROW(tokenizer.encode("3.5"), UsageError);
}

TEST(Tokenizer, ComesBackFromItsData) {
  const auto characters = CharTokenizer::from_text("zé a\n", "t");
  const auto again = make_tokenizer(characters->data());
  EXPECT_EQ(again->vocab_size(), 5);
  EXPECT_EQ(again->encode("az é"), characters->encode("az é"));
  EXPECT_EQ(make_tokenizer(IdTokenizer(10).data())->encode("9"), (std::vector<Index>{9}));
}

TEST(Tokenizer, RefusesDamagedData) {
  const auto refusal = [](const TokenizerData& data) {
    return message<DataError>([&] { make_tokenizer(data); });
  };
  EXPECT_THAT(refusal({"syllables", 3, {}}), HasSubstr("kind 'syllables' is not known"));
  EXPECT_THAT(refusal({"characters", 3, {}}),
              HasSubstr("the vocabulary of kind 'characters' is missing"));
  EXPECT_THAT(refusal({"characters", 3, {{"vocabulary", {'a', 'b'}}}}),
              HasSubstr("its table holds 2 tokens, stated are 3"));
  EXPECT_THAT(refusal({"characters", 2, {{"vocabulary", {'b', 'a'}}}}), HasSubstr("not in order"));
  EXPECT_THAT(refusal({"characters", 2, {{"vocabulary", {'a', 'a'}}}}), HasSubstr("twice"));
  EXPECT_THAT(refusal({"characters", 2, {{"vocabulary", {'a', 0xff}}}}), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal({"characters", 0, {{"vocabulary", {}}}}), HasSubstr("empty"));
  SpecialTokens gap;
  gap.mask = 3;
  EXPECT_THAT(refusal({"characters", 4, {{"vocabulary", {'a', 'b'}}}, gap}),
              HasSubstr("the last one is 3"));
  EXPECT_THAT(refusal({"characters", 2, {{"vocabulary", {'a', 'b'}}, {"ids_before", {1, 0}}}}),
              HasSubstr("ids_before wants 1 byte"));
  EXPECT_THAT(refusal({"ids", 3, {}, gap}), HasSubstr("not among 3 ids"));
  EXPECT_THAT(refusal({"ids", 0, {}}), HasSubstr("at least 1 token"));
}

}  // namespace
}  // namespace attn
