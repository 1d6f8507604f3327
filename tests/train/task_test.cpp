#include "train/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "support/places.h"
#include "text/char_tokenizer.h"
#include "train_helpers.h"

namespace attn {
namespace {

using ::testing::EndsWith;

TEST(Task, ProgressionsHaveAFloor) {
  const Task task = make_task({});
  EXPECT_EQ(task.yardstick_name, "floor");
  EXPECT_DOUBLE_EQ(task.yardstick, std::log(9.0) / 11);
  EXPECT_EQ(task.data->evaluation_batch().batch, 90);
  EXPECT_EQ(task.tokenizer->encode("3 5"), (std::vector<Index>{3, 5}));
  TaskSettings settings;
  settings.seq_len = 2;
  EXPECT_THROW(make_task(settings), UsageError);
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

std::string own_gpt2() {
  return (testing::source_folder() / "tests/data/gpt2").string();
}

Index length_setting(const Task& task) {
  EXPECT_EQ(task.settings.front().first, "seq_len");
  return std::get<Index>(task.settings.front().second);
}

// Of copy and the like the model's sequences are longer than what is read.
TEST(Task, ItsLengthMakesTheSameTaskAgain) {
  for (const std::string& name : task_names()) {
    SCOPED_TRACE(name);
    TaskSettings settings;
    settings.name = name;
    const Task first = make_task(settings);
    EXPECT_EQ(length_setting(first), task_defaults(name).seq_len);
    settings.seq_len = length_setting(first);
    const Task again = make_task(settings);
    EXPECT_EQ(again.settings, first.settings);
    EXPECT_EQ(again.data->seq_len(), first.data->seq_len());
  }
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

class TaskFromFiles : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("task_test." + std::to_string(getpid()));
};

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_F(TaskFromFiles, TextsAreOneTextInEitherArrangement) {
  TaskSettings settings;
  settings.text = {file("a", repeated("abc", 100)), file("b", repeated("cab\n", 100))};
  settings.seq_len = 8;
  settings.eval_windows = 0;
  const Task task = make_task(settings);
  EXPECT_EQ(task.name, "text");
  EXPECT_EQ(task.arch, Arch::kDecoder);
  EXPECT_EQ(task.data->vocab_size(), 4);
  EXPECT_EQ(task.data->evaluation_batch().batch, (70 - 1) / 8);
  EXPECT_EQ(task.data_digest.substr(0, 9), "xxh3-128:");
  EXPECT_FALSE(task.wanted.has_value()) << "nobody knows what can be known of a text";

  settings.arch = Arch::kEncoder;
  const Task masked = make_task(settings);
  EXPECT_EQ(masked.data->vocab_size(), 5);
  EXPECT_EQ(masked.tokenizer->specials().mask, 4);
  EXPECT_EQ(masked.data_digest, task.data_digest);

  // With an earlier run's tokenizer.
  settings.arch = Arch::kDecoder;
  settings.tokenizer_from = masked.tokenizer;
  EXPECT_EQ(make_task(settings).data->vocab_size(), 5);
  settings.tokenizer_from = std::make_shared<CharTokenizer>("ab");
  EXPECT_THROW(make_task(settings), DataError);
  settings.tokenizer_from = task.tokenizer;
  settings.arch = Arch::kEncoder;
  EXPECT_EQ(refusal(settings),
            "the model's tokenizer has no mask: it was trained for another task");
}

TEST_F(TaskFromFiles, Gpt2sTokensHaveTheRolesThatAUseNeeds) {
  TaskSettings settings;
  settings.tokenizer = "gpt2";
  settings.text = {
      file("text", "word words, for words of text\nand for text of words: the text\n")};
  settings.seq_len = 2;
  settings.held_out = 0.3;
  EXPECT_EQ(refusal(settings),
            "--tokenizer gpt2 needs --vocab FOLDER | the folder holds vocab.json and merges.txt, "
            "or encoder.json and vocab.bpe");
  settings.vocab = own_gpt2();
  const Task windows = make_task(settings);
  const Index end = windows.tokenizer->vocab_size() - 1;
  EXPECT_EQ(windows.tokenizer->specials().eos, end);
  EXPECT_EQ(windows.tokenizer->specials().bos, std::nullopt) << "a prompt is taken as it is";
  settings.lines = true;
  settings.seq_len.reset();
  const Task lines = make_task(settings);
  EXPECT_EQ(lines.tokenizer->specials().bos, end);
  EXPECT_EQ(lines.tokenizer->vocab_size(), end + 1);
  settings.lines = false;
  settings.seq_len = 2;
  settings.arch = Arch::kEncoder;
  const Task masked = make_task(settings);
  EXPECT_EQ(masked.tokenizer->specials().mask, end + 1);
  EXPECT_EQ(masked.data->vocab_size(), end + 2);
}

TEST_F(TaskFromFiles, LinesAndPairs) {
  TaskSettings settings;
  settings.text = {file("names", "anna\nbob\nada\n")};
  settings.lines = true;
  const Task lines = make_task(settings);
  EXPECT_EQ(lines.name, "lines");
  EXPECT_EQ(lines.data->seq_len(), 5);
  EXPECT_EQ(lines.tokenizer->specials().bos, lines.tokenizer->encode("\n").front());
  settings = {};
  settings.pairs = file("pairs", "ab\tba\nabc\tcba\n");
  for (const Arch arch : task_archs("pairs")) {
    for (const char* tokenizer : {"characters", "bytes", "gpt2"}) {
      settings.vocab = own_gpt2();
      settings.arch = arch;
      settings.tokenizer = tokenizer;
      const Task pairs = make_task(settings);
      const Batch batch = pairs.data->training_batch(0, 4);
      const SpecialTokens specials = pairs.tokenizer->specials();
      EXPECT_EQ(pairs.data->vocab_size(), pairs.tokenizer->vocab_size());
      EXPECT_EQ(std::count(batch.targets.begin(), batch.targets.end(), specials.eos.value()), 4);
      EXPECT_EQ(batch.source.empty(), arch == Arch::kDecoder);
    }
  }
}

// Sources of 8 characters, answers of one: the length a run is resumed with must not be the
// answers'.
TEST_F(TaskFromFiles, PairsOfLongSourcesAreTheSameTaskAgain) {
  TaskSettings settings;
  settings.pairs = file("pairs", "abcdabcd\tx\nbcdabcda\ty\ncdabcdab\tz\n");
  for (const Arch arch : task_archs("pairs")) {
    settings.arch = arch;
    settings.seq_len.reset();
    const Task first = make_task(settings);
    settings.seq_len = length_setting(first);
    EXPECT_EQ(settings.seq_len, 8);
    const Task again = make_task(settings);
    EXPECT_EQ(again.settings, first.settings);
    EXPECT_EQ(again.data->seq_len(), first.data->seq_len());
    EXPECT_EQ(again.data->training_batch(3, 4).source, first.data->training_batch(3, 4).source);
  }
}

TEST_F(TaskFromFiles, OneThingIsLearned) {
  TaskSettings settings;
  settings.text = {file("a", "abc")};
  settings.name = "sort";
  EXPECT_EQ(refusal(settings), "--task sort and --text are two things to learn");
  settings.name = "";
  settings.modulus = 3;
  EXPECT_EQ(refusal(settings), "--modulus says nothing of text");
  settings = {};
  settings.lines = true;
  EXPECT_EQ(refusal(settings), "--lines is only for --text");
  settings = {};
  settings.name = "text";
  EXPECT_EQ(refusal(settings).substr(0, 32), "--task: there is no task 'text',");
  settings.name = "";
  settings.tokenizer = "syllables";
  settings.text = {file("a", "abc")};
  EXPECT_EQ(refusal(settings), "--tokenizer must be characters, bytes or gpt2: got 'syllables'");
}

// Two letters in turn: each held-out letter costs ln 2 to who knows only how often they come.
TEST(Task, ATextIsHeldAgainstItsFrequencies) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ab";
  TaskSettings settings;
  settings.seq_len = 4;
  const Task task = text_task(text, settings);
  EXPECT_EQ(task.yardstick_name, "unigram");
  EXPECT_NEAR(task.yardstick, std::log(2.0), 1e-12);
  EXPECT_EQ(task.data->vocab_size(), 2);
  EXPECT_EQ(task.tokenizer->decode(std::vector<Index>{0, 1}), "ab");
  EXPECT_THAT(task.about, EndsWith("text: 200 characters, 2 distinct; the last 20 are held out"));
}

TEST(Task, ATextThatCannotBeLearnedIsNamed) {
  EXPECT_THROW(text_task("too short", {}), DataError);
  EXPECT_THROW(text_task("ab\xff", {}), DataError);
  EXPECT_THROW(text_task("", {}), DataError);
}

}  // namespace
}  // namespace attn
