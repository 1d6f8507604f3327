#include "model/import/hf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/utf8.h"
#include "support/process.h"
#include "text/char_tokenizer.h"
#include "text/gpt2_pieces.h"

namespace attn {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HfTokenizerTest : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  HfTokenizer read_it(Index vocab_size, const SpecialTokens& specials = {}) {
    return read_hf_tokenizer(folder_.path().string(), vocab_size, specials, 1 << 20);
  }
  std::string refusal(Index vocab_size) {
    try {
      read_it(vocab_size);
    } catch (const DataError& error) {
      return error.what();
    }
    return "(accepted)";
  }
  testing::TempFolder folder_;
};

TEST_F(HfTokenizerTest, SingleCharactersMakeACharacterTokenizerAndComeBack) {
  put("vocab.json", R"({"\n": 0, "a": 1, "\u00e9": 2, "<eos>": 3})");
  const HfTokenizer read_one = read_it(4);
  ASSERT_NE(read_one.tokenizer, nullptr) << read_one.note;
  EXPECT_EQ(read_one.tokenizer->data().kind, "characters");
  EXPECT_THAT(read_one.tokenizer->encode("a\n\xc3\xa9"), ElementsAre(1, 0, 2));
  EXPECT_EQ(read_one.tokenizer->specials().eos, 3);
  const auto files = hf_tokenizer_files(*read_one.tokenizer);
  EXPECT_EQ(json::parse(files.at("vocab.json")),
            json::parse(R"({"\n": 0, "a": 1, "é": 2, "<eos>": 3})"));
}

TEST_F(HfTokenizerTest, VocabularyAndMergesMakeBytePairsAndComeBack) {
  json words;
  for (int byte = 0; byte < 256; ++byte) {
    words[utf8_character(gpt2_letter(static_cast<unsigned char>(byte)))] = byte;
  }
  words["ab"] = 256;
  words["<|endoftext|>"] = 257;
  for (const auto& [vocabulary, merges] :
       {std::pair("encoder.json", "vocab.bpe"), std::pair("vocab.json", "merges.txt")}) {
    put(vocabulary, words.dump());
    put(merges, "#version: 0.2\na b\n");
    const HfTokenizer read_one = read_it(258);
    ASSERT_NE(read_one.tokenizer, nullptr) << read_one.note;
    EXPECT_THAT(read_one.tokenizer->encode("abc"), ElementsAre(256, 'c'));
    EXPECT_EQ(read_one.tokenizer->specials().eos, 257);
    const auto files = hf_tokenizer_files(*read_one.tokenizer);
    EXPECT_EQ(files.at("vocab.json"), words.dump());
    EXPECT_EQ(files.at("merges.txt"), "#version: 0.2\na b\n");
    EXPECT_EQ(read_it(300).tokenizer->vocab_size(), 300) << "ids that no text has";
    EXPECT_THAT(refusal(257), HasSubstr(vocabulary));
    for (const char* name : {vocabulary, merges}) std::filesystem::remove(folder_ / name);
  }
}

TEST_F(HfTokenizerTest, WithoutFilesThereAreIds) {
  EXPECT_EQ(read_it(4).tokenizer, nullptr);
  SpecialTokens specials;
  specials.eos = 2;
  const HfTokenizer ids = read_it(4, specials);
  ASSERT_NE(ids.tokenizer, nullptr);
  EXPECT_EQ(ids.tokenizer->data().kind, "ids");
  EXPECT_EQ(ids.tokenizer->specials().eos, 2);
  put("tokenizer.json", "{}");
  EXPECT_THAT(read_it(4).note, HasSubstr("tokenizer.json is not read"));
  put("vocab.json", R"({"the": 0, "a": 1})");
  EXPECT_THAT(read_it(2).note, HasSubstr("no merges.txt beside it"));
}

TEST_F(HfTokenizerTest, ABeginningIsSaidByTheTokenizersConfiguration) {
  EXPECT_FALSE(adds_bos(folder_.path().string(), 1000));
  put("tokenizer_config.json", R"({"add_bos_token": true, "model_max_length": 64})");
  EXPECT_TRUE(adds_bos(folder_.path().string(), 1000));
  SpecialTokens specials;
  specials.bos = specials.eos = 0;
  const CharTokenizer lines("\nab", specials);
  const auto files = hf_tokenizer_files(lines);
  EXPECT_EQ(files.size(), 2U);
  EXPECT_EQ(files.at("tokenizer_config.json"), "{\"add_bos_token\": true}\n");
  EXPECT_EQ(hf_tokenizer_files(CharTokenizer("\nab")).size(), 1U);
}

TEST_F(HfTokenizerTest, ABrokenVocabularyIsRefused) {
  put("vocab.json", R"({"a": 0, "b": 1, "c": 2})");
  EXPECT_THAT(refusal(2), HasSubstr("it has 3 tokens, the model 2"));
  EXPECT_THAT(read_it(5).note, HasSubstr("has 3 tokens, the model 5"));
  for (const char* text : {R"({"a": 0, "b": 2})", R"({"a": 0, "b": 0})", R"({"a": 0, "b": -1})",
                           R"({"a": 0, "b": "1"})", R"({"a": 0.0, "b": 1})"}) {
    put("vocab.json", text);
    EXPECT_THAT(refusal(2), HasSubstr("its ids must be 0 to 1, each once")) << text;
  }
  put("vocab.json", R"({"a": 0, "a": 1})");
  EXPECT_THAT(refusal(2), HasSubstr("'a' stands there twice"));
  put("vocab.json", "[]");
  EXPECT_THAT(refusal(2), HasSubstr("not a JSON object"));
}

}  // namespace
}  // namespace attn
