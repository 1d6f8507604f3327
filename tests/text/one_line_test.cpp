#include "text/one_line.h"

#include <gtest/gtest.h>

namespace attn {
namespace {

TEST(OneLine, ShowsWhatWouldBreakTheLine) {
  EXPECT_EQ(one_line("plain text"), "plain text");
  EXPECT_EQ(one_line("two\nlines\r\n"), "two\\nlines\\r\\n");
  EXPECT_EQ(one_line("a\tb"), "a\\tb");
  EXPECT_EQ(one_line(std::string_view("a\0b\x1b", 4)), "a\\x00b\\x1b");
}

TEST(OneLine, KeepsWholeCharactersAndMarksBrokenOnes) {
  EXPECT_EQ(one_line("é€𝄞"), "é€𝄞");
  EXPECT_EQ(one_line("\xc3"), "\\xc3");
}

// A backslash of the text and one of ours must not look alike.
TEST(OneLine, CanBeReadBack) {
  EXPECT_EQ(one_line("\\n"), "\\\\n");
  EXPECT_NE(one_line("\\n"), one_line("\n"));
}

}  // namespace
}  // namespace attn
