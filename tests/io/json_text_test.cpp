#include "io/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"

namespace attn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(const std::string& text) {
  try {
    parse_json_object(text, "c.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(JsonText, AnObjectIsReadWithBlanksAroundIt) {
  const nlohmann::json read = parse_json_object(" {\"a\": [1, {\"a\": 2}], \"b\": null} \n", "x");
  EXPECT_EQ(read.at("a").at(1).at("a"), 2);  // an inner name is another object's
  EXPECT_TRUE(read.at("b").is_null());
}

TEST(JsonText, ANameTwiceIsRefusedAtAnyDepth) {
  EXPECT_EQ(refusal(R"({"a": 1, "b": 2, "a": 1})"), "c.json: 'a' stands there twice");
  EXPECT_EQ(refusal(R"({"a": [{"b": 1, "b": 2}]})"), "c.json: 'b' stands there twice");
  EXPECT_EQ(refusal(R"({"\u0061": 1, "a": 1})"), "c.json: 'a' stands there twice");
  EXPECT_THAT(refusal(R"({"\u001b[31m": 1, "\u001b[31m": 1})"), Not(HasSubstr("\x1b")));
}

TEST(JsonText, WhatIsNoObjectIsRefused) {
  EXPECT_EQ(refusal("[]"), "c.json: not a JSON object");
  EXPECT_EQ(refusal("null"), "c.json: not a JSON object");
  for (const char* text : {"", "{", "{}{}", "{} x", "{\"a\":1,}", "{'a':1}", "{\"a\":NaN}",
                           "{\"a\":1e999}", "{\"\xff\":1}", "{\"a\":01}", "// c\n{}"}) {
    EXPECT_THAT(refusal(text), HasSubstr("not JSON")) << text;
  }
}

TEST(JsonText, WhatTheParserWouldPassOverIsRefused) {
  EXPECT_EQ(refusal(std::string("{}\0garbage", 10)),
            "c.json: not JSON: it breaks at byte 3, a NUL");
  EXPECT_EQ(refusal("\xef\xbb\xbf{}"), "c.json: not JSON: it begins with a byte order mark");
}

TEST(JsonText, DepthIsBounded) {
  EXPECT_EQ(refusal("{\"a\":" + std::string(100000, '[')),
            "c.json: nested more than 1000 levels deep");
}

}  // namespace
}  // namespace attn
