#include "train/task.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace attn {
namespace {

TEST(Task, ProgressionsHaveAFloor) {
  const Task task = progressions_task(12, 0);
  EXPECT_EQ(task.yardstick_name, "floor");
  EXPECT_DOUBLE_EQ(task.yardstick, std::log(9.0) / 11);
  EXPECT_EQ(task.data->evaluation_batch().batch, 90);
  EXPECT_EQ(task.tokenizer->encode("3 5"), (std::vector<Index>{3, 5}));
  EXPECT_THROW(progressions_task(2, 0), UsageError);
}

// Two letters in turn: each held-out letter costs ln 2 to who knows only how often they come.
TEST(Task, ATextIsHeldAgainstItsFrequencies) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ab";
  TextWindows::Settings settings;
  settings.seq_len = 4;
  const Task task = text_task(text, "letters", settings);
  EXPECT_EQ(task.yardstick_name, "unigram");
  EXPECT_NEAR(task.yardstick, std::log(2.0), 1e-12);
  EXPECT_EQ(task.data->vocab_size(), 2);
  EXPECT_EQ(task.tokenizer->decode(std::vector<Index>{0, 1}), "ab");
  EXPECT_EQ(task.about, "letters: 200 characters, 2 distinct; the last 20 are held out");
}

TEST(Task, ATextThatCannotBeLearnedIsNamed) {
  const TextWindows::Settings settings;
  EXPECT_THROW(text_task("too short", "letters", settings), DataError);
  EXPECT_THROW(text_task("ab\xff", "letters", settings), DataError);
  EXPECT_THROW(text_task("", "letters", settings), DataError);
}

}  // namespace
}  // namespace attn
