#include "cli/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT: setenv
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "support/pseudo_terminal.h"

namespace attn::cli {
namespace {

// The environment that these tests change, put back at their end.
class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"TERM", "NO_COLOR", "COLORTERM", "COLUMNS", "LC_ALL", "LC_CTYPE", "LANG", "CI"}) {
      const char* value = getenv(name);
      if (value != nullptr) before_[name] = value;
      unsetenv(name);
      names_.emplace_back(name);
    }
    ASSERT_EQ(pipe(pipe_), 0);
  }
  void TearDown() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
    for (const int end : pipe_) close(end);
    if (pty_ >= 0) close(pty_);
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }

  // One end of a pseudo-terminal; negative where the machine has none.
  int pty() {
    if (!screen_.path().empty()) pty_ = open(screen_.path().c_str(), O_RDWR | O_NOCTTY);
    return pty_;
  }
  int log() const { return pipe_[1]; }

 private:
  std::map<std::string, std::string> before_;
  std::vector<std::string> names_;
  int pipe_[2] = {-1, -1};
  testing::PseudoTerminal screen_;
  int pty_ = -1;
};

TEST_F(TerminalTest, ALogIsPlain) {
  set("TERM", "xterm-256color");
  const Terminal terminal = detect_terminal(log(), ColorChoice::kAuto);
  EXPECT_EQ(terminal.color, ColorMode::kNone);
  EXPECT_FALSE(terminal.interactive);
  EXPECT_EQ(terminal.width, 80);
  EXPECT_FALSE(terminal.utf8);
}

TEST_F(TerminalTest, ColourForALogIsAWish) {
  EXPECT_EQ(detect_terminal(log(), ColorChoice::kAlways).color, ColorMode::k256);
  set("COLORTERM", "truecolor");
  EXPECT_EQ(detect_terminal(log(), ColorChoice::kAlways).color, ColorMode::kTrueColor);
  set("NO_COLOR", "1");  // what is said on the command line wins
  EXPECT_EQ(detect_terminal(log(), ColorChoice::kAlways).color, ColorMode::kTrueColor);
}

TEST_F(TerminalTest, ATerminalHasColoursUnlessItIsDumbOrToldNot) {
  const int terminal = pty();
  if (terminal < 0) GTEST_SKIP() << "no pseudo-terminals here";
  const auto color = [&] { return detect_terminal(terminal, ColorChoice::kAuto).color; };
  set("TERM", "xterm-256color");
  EXPECT_EQ(color(), ColorMode::k256);
  EXPECT_TRUE(detect_terminal(terminal, ColorChoice::kAuto).interactive);
  EXPECT_EQ(detect_terminal(terminal, ColorChoice::kNever).color, ColorMode::kNone);
  set("COLORTERM", "24bit");
  EXPECT_EQ(color(), ColorMode::kTrueColor);
  set("NO_COLOR", "");
  EXPECT_EQ(color(), ColorMode::kTrueColor) << "an empty NO_COLOR says nothing";
  set("NO_COLOR", "1");
  EXPECT_EQ(color(), ColorMode::kNone);
  unsetenv("NO_COLOR");
  set("TERM", "dumb");
  EXPECT_EQ(color(), ColorMode::kNone);
  EXPECT_FALSE(detect_terminal(terminal, ColorChoice::kAuto).interactive);
}

TEST_F(TerminalTest, ARunnerThatOnlyRecordsIsNotInteractive) {
  const int terminal = pty();
  if (terminal < 0) GTEST_SKIP() << "no pseudo-terminals here";
  set("TERM", "xterm");
  set("CI", "1");
  EXPECT_FALSE(detect_terminal(terminal, ColorChoice::kAuto).interactive);
}

TEST_F(TerminalTest, ColumnsCountWhereTheyAreANumber) {
  const auto width = [&] { return detect_terminal(log(), ColorChoice::kAuto).width; };
  set("COLUMNS", "40");
  EXPECT_EQ(width(), 40);
  for (const char* nonsense : {"", "wide", "-5", "0", "3", "99999999999999"}) {
    set("COLUMNS", nonsense);
    EXPECT_EQ(width(), 80) << nonsense;
  }
}

TEST_F(TerminalTest, Utf8IsWhatTheFirstLocaleVariableSays) {
  const auto utf8 = [&] { return detect_terminal(log(), ColorChoice::kAuto).utf8; };
  set("LANG", "en_US.UTF-8");
  EXPECT_TRUE(utf8());
  set("LC_CTYPE", "C");
  EXPECT_FALSE(utf8());
  set("LC_ALL", "de_DE.utf8");
  EXPECT_TRUE(utf8());
}

}  // namespace
}  // namespace attn::cli
