#include "text/spoken_text.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/text.h"
#include "text/byte_tokenizer.h"
#include "text/id_tokenizer.h"

namespace attn {
namespace {

constexpr const char* kBad = "\xEF\xBF\xBD";

TEST(TokenPieces, AddUpToTheDecodedText) {
  const IdTokenizer ids(20);
  TokenPieces pieces(ids);
  EXPECT_EQ(pieces.add(7), "7");
  EXPECT_EQ(pieces.add(19), " 19");
  EXPECT_EQ(pieces.add(0), " 0");
  const ByteTokenizer bytes(SpecialTokens{{}, 256, {}, {}});
  TokenPieces of_bytes(bytes);
  EXPECT_EQ(of_bytes.add(256), "");
  EXPECT_EQ(of_bytes.add('a'), "a");
  EXPECT_EQ(of_bytes.add(0xc3), "\xc3");
  EXPECT_EQ(of_bytes.add(256), "");
  EXPECT_EQ(of_bytes.add(0xa9), "\xa9");
}

TEST(StopText, LetsPassWhatStandsBeforeTheFirstStop) {
  StopText stop({"END", "stop"});
  EXPECT_EQ(stop.add("a s"), "a ");
  EXPECT_EQ(stop.add("t"), "");
  EXPECT_EQ(stop.add("ay "), "stay ");
  EXPECT_EQ(stop.add("stEN"), "st");
  EXPECT_EQ(stop.add("E"), "EN");
  EXPECT_FALSE(stop.stopped());
  EXPECT_EQ(stop.add("NDstop"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.add("more"), "");
  EXPECT_EQ(stop.finish(), "");
}

TEST(StopText, TheEarliestStopCountsAndOneThatRepeatsItself) {
  StopText stop({"bc", "abcd"});
  EXPECT_EQ(stop.add("xabcd"), "x") << "abcd begins before bc";
  StopText other({"abcd", "bc"});
  EXPECT_EQ(other.add("xabc"), "xa") << "abcd is not there yet, bc is";
  StopText again({"aab"});
  EXPECT_EQ(again.add("aaa"), "a");
  EXPECT_EQ(again.add("b"), "");
  EXPECT_TRUE(again.stopped());
}

TEST(StopText, AtTheEndLetsGoWhatItHeld) {
  StopText stop({"stop"});
  EXPECT_EQ(stop.add("sto"), "");
  EXPECT_EQ(stop.finish(), "sto");
  EXPECT_THROW(StopText({"a", ""}), UsageError);
  StopText none({});
  EXPECT_EQ(none.add("anything"), "anything");
}

// Every way to cut the bytes into two gives the same text.
TEST(Utf8Text, NeverCutsACharacter) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Utf8Text utf8;
    const std::string first = utf8.add(text.substr(0, cut));
    EXPECT_TRUE(text.starts_with(first));
    for (std::size_t at = 0; at < first.size(); at += utf8_length(first.substr(at))) {
      ASSERT_GT(utf8_length(first.substr(at)), 0U) << cut;
    }
    const std::string second = utf8.add(text.substr(cut));
    EXPECT_EQ(first + second, text) << cut;
    EXPECT_EQ(utf8.finish(), "") << cut;
  }
  Utf8Text bytes;
  std::string all;
  for (const char c : text) all += bytes.add(std::string(1, c));
  EXPECT_EQ(all, text);
}

// The examples of the Unicode standard, tables 3-8 to 3-11.
TEST(Utf8Text, ReplacesEachLongestBeginningOnce) {
  const auto read = [](std::string_view bytes) {
    Utf8Text utf8;
    std::string text = utf8.add(bytes);
    return text + utf8.finish();
  };
  const auto bad = [](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += kBad;
    return all;
  };
  EXPECT_EQ(read("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"), bad(8) + "A");
  EXPECT_EQ(read("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"), bad(8) + "A");
  EXPECT_EQ(read("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"), bad(5) + "A" + bad(2) + "B");
  EXPECT_EQ(read("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), bad(4) + "A");
  EXPECT_EQ(read("a\xf0\x9f\x98"), "a" + bad(1)) << "begun and never ended";
}

TEST(SpokenText, StopsAcrossTokensAndInsideCharacters) {
  const ByteTokenizer tokenizer;
  SpokenText spoken(tokenizer, {"\xa9!"});
  std::string text = spoken.echo('!');
  for (const char c : std::string("x\xc3\xa9\xc3\xa9!y")) {
    text += spoken.add(static_cast<unsigned char>(c));
    if (spoken.stopped()) break;
  }
  EXPECT_EQ(text + spoken.finish(), std::string("!x\xc3\xa9") + kBad);
}

}  // namespace
}  // namespace attn
