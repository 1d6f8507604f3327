#include "train/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "support/places.h"

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TokenFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("token_file_test." + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string written(const TokenFile& tokens) {
    Hdf5Writer writer;
    write_token_file(writer, tokens);
    const Hdf5Image image = writer.finish();
    const auto bytes = image.bytes();
    return file("tokens.h5", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  std::filesystem::path folder_;
};

TaskSettings settings_of(const std::string& tokenizer, const std::string& text) {
  TaskSettings settings;
  settings.tokenizer = tokenizer;
  if (tokenizer == "gpt2") settings.vocab = (testing::source_folder() / "tests/data/gpt2").string();
  settings.text = {text};
  settings.seq_len = 3;
  settings.held_out = 0.3;
  return settings;
}

// Training on the ids is training on the text: the same batches, and the same tokenizer kept.
TEST_F(TokenFiles, AStreamTrainsAsItsTextDoes) {
  const std::string text =
      file("text", "for words of text, words and words\nand the text of words for \xc3\xa9\n");
  for (const char* tokenizer : {"characters", "bytes", "gpt2"}) {
    SCOPED_TRACE(tokenizer);
    const TaskSettings settings = settings_of(tokenizer, text);
    const TokenFile tokens = tokenize(settings);
    EXPECT_EQ(tokens.tokens.size(), tokens.count);
    EXPECT_EQ(tokens.bytes, static_cast<Index>(std::filesystem::file_size(text)));
    TaskSettings again;
    again.tokens = written(tokens);
    again.seq_len = settings.seq_len;
    again.held_out = settings.held_out;
    const Task from_ids = make_task(again);
    const Task from_text = make_task(settings);
    EXPECT_EQ(from_ids.tokenizer->data().kind, tokenizer);
    EXPECT_EQ(from_ids.data->vocab_size(), from_text.data->vocab_size());
    EXPECT_EQ(from_ids.data->training_batch(2, 3).ids, from_text.data->training_batch(2, 3).ids);
    EXPECT_EQ(from_ids.yardstick, from_text.yardstick);
  }
}

TEST_F(TokenFiles, LinesTrainAsTheirTextDoes) {
  const std::string text = file("text", "anna\nbo\n\nwordsmith of words\nada\n");
  for (const char* tokenizer : {"characters", "bytes", "gpt2"}) {
    SCOPED_TRACE(tokenizer);
    TaskSettings settings = settings_of(tokenizer, text);
    settings.lines = true;
    settings.seq_len.reset();
    const TokenFile tokens = tokenize(settings);
    EXPECT_EQ(tokens.tokens.dim(0), 4);
    TaskSettings again;
    again.tokens = written(tokens);
    again.held_out = settings.held_out;
    const Task from_ids = make_task(again);
    const Task from_text = make_task(settings);
    EXPECT_EQ(from_ids.data->training_batch(2, 3).ids, from_text.data->training_batch(2, 3).ids);
    EXPECT_EQ(from_ids.data->training_batch(2, 3).targets,
              from_text.data->training_batch(2, 3).targets);
  }
}

TEST_F(TokenFiles, ShorterLinesEndInMinusOnes) {
  TaskSettings settings = settings_of("bytes", file("text", "ab\nc\n"));
  settings.lines = true;
  EXPECT_THAT(tokenize(settings).tokens.values, ElementsAre('a', 'b', 'c', -1));
  settings.max_bytes = 15;
  try {
    tokenize(settings);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("2 lines of up to 2 tokens"));
  }
}

TEST_F(TokenFiles, ATokenizerOfAnotherSizeIsRefused) {
  TokenFile tokens = tokenize(settings_of("bytes", file("text", "abc")));
  Hdf5Writer writer;
  write_token_file(writer, tokens);
  writer.attribute("/tokens", "vocab_size", 300);
  const Hdf5Image image = writer.finish();
  const auto bytes = image.bytes();
  TaskSettings again;
  again.tokens = file("tokens.h5", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  try {
    make_task(again);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/tokenizer has 256 tokens, /tokens 300"));
  }
}

}  // namespace
}  // namespace attn
