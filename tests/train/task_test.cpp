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

std::string refusal(const TaskSettings& settings) {
  try {
    make_task(settings);
  } catch (const UsageError& error) {
    std::string all = error.what();
    for (const std::string& hint : error.hints()) all += " | " + hint;
    return all;
  }
  return "(accepted)";
}

TEST(Task, EachByNameHasWhatIsWanted) {
  for (const std::string& name : task_names()) {
    for (const Arch arch : task_archs(name)) {
      TaskSettings settings;
      settings.name = name;
      settings.arch = arch;
      const Task task = make_task(settings);
      const Batch batch = task.data->training_batch(0, 8);
      EXPECT_EQ(task.name, name);
      EXPECT_EQ(task.arch, arch);
      EXPECT_EQ(task.data->vocab_size(), task.tokenizer->vocab_size());
      EXPECT_EQ(task.data->source_vocab_size() > 0, arch == Arch::kEncoderDecoder);
      EXPECT_LE(batch.seq_len, task.data->seq_len());
      EXPECT_LE(batch.source_len, task.data->source_len());
      EXPECT_EQ(task.yardstick_name, "floor");
      EXPECT_EQ(task.yardstick, task.data->loss_floor().value());
      EXPECT_GE(task.wanted.value(), 0.98);
      EXPECT_FALSE(task.accuracy_about.empty());
      for (const Index id : batch.ids) ASSERT_LT(id, task.data->vocab_size());
    }
  }
}

TEST(Task, ReversesInTwoStacksFromZeroToOne) {
  TaskSettings settings;
  settings.name = "reverse";
  const Task task = make_task(settings);
  EXPECT_EQ(task.arch, Arch::kEncoderDecoder);
  EXPECT_EQ(task.tokenizer->specials().bos, 0);
  EXPECT_EQ(task.tokenizer->specials().eos, 1);
  EXPECT_EQ(task.tokenizer->encode("0 9"), (std::vector<Index>{2, 11}));
  EXPECT_EQ(task.accuracy_of, AccuracyOf::kSequences);
}

TEST(Task, AMistypedOrUnfitOneIsNamed) {
  TaskSettings settings;
  settings.name = "revers";
  EXPECT_EQ(refusal(settings),
            "--task: there is no task 'revers', but progressions, copy, reverse, sort, masked, "
            "induction | did you mean 'reverse'?");
  settings.name = "sort";
  settings.arch = Arch::kEncoder;
  EXPECT_EQ(refusal(settings),
            "--arch encoder cannot learn sort | it is for --arch decoder or encoder_decoder");
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
