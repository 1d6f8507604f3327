#include "text/gpt2_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/rng.h"
#include "core/utf8.h"
#include "support/truth.h"
#include "text/gpt2_pieces.h"

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size(); at += found.back().size()) {
    found.emplace_back(text.substr(at, gpt2_piece(text, at)));
  }
  return found;
}

// A vocabulary of our own: the bytes, then one word for each merge, then the end.
struct OwnFiles {
  std::string vocabulary, merges;
};
OwnFiles own_files(const std::vector<std::pair<std::string, std::string>>& merges) {
  nlohmann::json words;
  for (unsigned byte = 0; byte < 256; ++byte) {
    words[utf8_character(gpt2_letter(static_cast<unsigned char>(byte)))] = byte;
  }
  OwnFiles files{"", "#version: 0.2\n"};
  for (const auto& [left, right] : merges) {
    const auto id = words.size();
    words.emplace(left + right, id);
    files.merges += left + " " + right + "\n";
  }
  const auto end = words.size();
  words.emplace("<|endoftext|>", end);
  files.vocabulary = words.dump();
  return files;
}

const std::vector<std::pair<std::string, std::string>> kMerges = {
    {"a", "a"}, {"\u0120", "t"}, {"\u0120t", "h"}, {"\u0120th", "e"}, {"aa", "b"}, {"e", "r"}};

Gpt2Tokenizer own_tokenizer() {
  const OwnFiles files = own_files(kMerges);
  return Gpt2Tokenizer(files.vocabulary, files.merges);
}

std::string refusal(const std::string& vocabulary, const std::string& merges) {
  try {
    Gpt2Tokenizer(vocabulary, merges);
  } catch (const DataError& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Gpt2Pieces, ContractionsWordsNumbersAndTheRest) {
  EXPECT_THAT(pieces("I'll don't 'tis O'Neil''s"),
              ElementsAre("I", "'ll", " don", "'t", " '", "tis", " O", "'", "Neil", "''", "s"));
  EXPECT_THAT(pieces("x1y 42!? ..._"), ElementsAre("x", "1", "y", " 42", "!?", " ..._"));
  EXPECT_THAT(pieces("I'M"), ElementsAre("I", "'", "M")) << "contractions are lower case";
}

TEST(Gpt2Pieces, TheLastBlankGoesWithTheWord) {
  EXPECT_THAT(pieces("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(pieces("a \n\tb"), ElementsAre("a", " \n", "\t", "b")) << "only a blank does";
  EXPECT_THAT(pieces("a  \n"), ElementsAre("a", "  \n")) << "no word follows";
  EXPECT_THAT(pieces("a\u00a0b"), ElementsAre("a", "\u00a0", "b"));
  EXPECT_THAT(pieces(" \u2003b"), ElementsAre(" ", "\u2003", "b"));
}

TEST(Gpt2Pieces, LettersAndNumbersAreUnicodes) {
  EXPECT_THAT(pieces("caf\u00e9\u0301!"), ElementsAre("caf\u00e9", "\u0301!"))
      << "a combining accent is no letter";
  EXPECT_THAT(pieces("\u0665\u00b2\u2167\u65e5x"), ElementsAre("\u0665\u00b2\u2167", "\u65e5x"));
  EXPECT_THAT(pieces("a\u0085b\ufeffc"), ElementsAre("a", "\u0085", "b", "\ufeff", "c"));
}

TEST(Gpt2Pieces, InvalidBytesAreNeither) {
  EXPECT_THAT(pieces("a\xff\xc3 b"), ElementsAre("a", "\xff\xc3", " b"));
  EXPECT_THAT(pieces(" \xed\xa0\x80"), ElementsAre(" \xed\xa0\x80")) << "a surrogate";
}

TEST(Gpt2Alphabet, EveryByteHasALetterOfItsOwn) {
  std::string word;
  std::string bytes;
  for (unsigned byte = 0; byte < 256; ++byte) {
    word += utf8_character(gpt2_letter(static_cast<unsigned char>(byte)));
    bytes += static_cast<char>(byte);
  }
  EXPECT_EQ(gpt2_bytes(word), bytes);
  EXPECT_EQ(gpt2_letter(' '), 0x120U);
  EXPECT_EQ(gpt2_letter(0xad), 0x143U);
  EXPECT_EQ(gpt2_bytes("\u0144"), std::nullopt);
  EXPECT_EQ(gpt2_bytes("\xff"), std::nullopt);
}

TEST(Gpt2Tokenizer, MergesByRankFromTheLeft) {
  const Gpt2Tokenizer tokenizer = own_tokenizer();
  EXPECT_EQ(tokenizer.vocab_size(), 256 + 6 + 1);
  EXPECT_THAT(tokenizer.encode("the the"), ElementsAre('t', 'h', 'e', 259));
  EXPECT_THAT(tokenizer.encode("aaab"), ElementsAre(256, 'a', 'b')) << "aa a b, not a aa b";
  EXPECT_THAT(tokenizer.encode("aab"), ElementsAre(260));
  EXPECT_THAT(tokenizer.encode(" ther"), ElementsAre(259, 'r')) << "the lower rank goes first";
}

TEST(Gpt2Tokenizer, TheEndOfTextIsNoText) {
  const Gpt2Tokenizer tokenizer = own_tokenizer();
  EXPECT_EQ(tokenizer.specials().eos, 262);
  EXPECT_EQ(tokenizer.specials().bos, std::nullopt);
  EXPECT_FALSE(tokenizer.is_text(262));
  EXPECT_EQ(tokenizer.label(262), "<|endoftext|>");
  EXPECT_THAT(tokenizer.encode_with_specials("aa<|endoftext|>b"), ElementsAre(256, 262, 'b'));
  EXPECT_EQ(tokenizer.encode("<|endoftext|>").size(), 13U) << "in a file it is what stands there";
  EXPECT_EQ(tokenizer.decode(std::vector<Index>{256, 262, 'b'}), "aab");
  EXPECT_EQ(tokenizer.label(257), "\u00b7t");
  EXPECT_EQ(tokenizer.label('\n'), "\\n");
}

TEST(Gpt2Tokenizer, TravelsInItsData) {
  const OwnFiles files = own_files(kMerges);
  SpecialTokens specials;
  specials.mask = 263;
  const Gpt2Tokenizer padded(files.vocabulary, files.merges, specials, 270);
  const auto again = make_tokenizer(padded.data());
  EXPECT_EQ(again->vocab_size(), 270);
  EXPECT_EQ(again->specials(), padded.specials());
  EXPECT_EQ(again->encode(" the er"), padded.encode(" the er"));
  EXPECT_EQ(again->label(263), "<mask>");
  EXPECT_EQ(again->label(269), "<unused 269>");
  EXPECT_EQ(again->decode(std::vector<Index>{263, 269, 'x'}), "x");
}

TEST(Gpt2Tokenizer, DecodingGivesTheBytesBack) {
  const Gpt2Tokenizer tokenizer = own_tokenizer();
  Rng rng(7, RandomPurpose::kExample);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (Index n = rng.below(60); n > 0; --n) {
      // Mostly what the merges are about, else any byte.
      text += rng.below(3) > 0 ? "a b\u00e9the r"[rng.below(10)]
                               : static_cast<char>(static_cast<unsigned char>(rng.below(256)));
    }
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

// The algorithm as GPT-2 states it, pass by pass.
std::vector<std::string> merged_plainly(std::string_view piece) {
  std::vector<std::string> words;
  for (const char byte : piece) {
    words.push_back(utf8_character(gpt2_letter(static_cast<unsigned char>(byte))));
  }
  for (;;) {
    std::size_t best = kMerges.size();
    for (std::size_t at = 0; at + 1 < words.size(); ++at) {
      const auto found =
          std::find(kMerges.begin(), kMerges.end(), std::pair(words[at], words[at + 1]));
      best = std::min(best, static_cast<std::size_t>(found - kMerges.begin()));
    }
    if (best == kMerges.size()) return words;
    std::vector<std::string> next;
    for (std::size_t at = 0; at < words.size(); ++at) {
      const bool here = at + 1 < words.size() && words[at] == kMerges[best].first &&
                        words[at + 1] == kMerges[best].second;
      next.push_back(here ? words[at] + words[at + 1] : words[at]);
      if (here) ++at;
    }
    words = next;
  }
}

TEST(Gpt2Tokenizer, IsTheAlgorithmPassByPass) {
  const Gpt2Tokenizer tokenizer = own_tokenizer();
  Rng rng(8, RandomPurpose::kExample);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (Index n = 1 + rng.below(12); n > 0; --n) text += "aaabtherr "[rng.below(10)];
    std::vector<std::string> wanted;
    for (const std::string& piece : pieces(text)) {
      for (const std::string& word : merged_plainly(piece)) wanted.push_back(*gpt2_bytes(word));
    }
    std::vector<std::string> given;
    for (const Index id : tokenizer.encode(text)) {
      given.push_back(tokenizer.decode(std::vector<Index>{id}));
    }
    EXPECT_EQ(given, wanted) << text;
  }
}

TEST(Gpt2Tokenizer, OneLongPieceIsNoTrouble) {
  const Gpt2Tokenizer tokenizer = own_tokenizer();
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(tokenizer.encode(text).size(), text.size() / 2);
}

TEST(Gpt2Tokenizer, NamesWhatIsWrongWithItsFiles) {
  const OwnFiles good = own_files(kMerges);
  EXPECT_THAT(refusal("[1]", ""), HasSubstr("no JSON object of words and ids"));
  EXPECT_THAT(refusal("{\"a\": 1,", ""), HasSubstr("no JSON at byte"));
  EXPECT_THAT(refusal(R"({"a": 0, "a": 1})", ""), HasSubstr("'a' twice"));
  EXPECT_THAT(refusal(R"({"a": "0"})", ""), HasSubstr("'a' has no whole number"));
  EXPECT_THAT(refusal(R"({"a": {"b": 0}})", ""), HasSubstr("no whole number"));
  EXPECT_THAT(refusal(R"({"a": -1})", ""), HasSubstr("'a' has an id outside 0"));
  EXPECT_THAT(refusal(R"({"a": 18446744073709551615})", ""), HasSubstr("outside"));
  EXPECT_THAT(refusal(R"({"a": 0, "b": 2})", ""), HasSubstr("'b' has 2"));
  EXPECT_THAT(refusal(R"({"a": 0})", ""), HasSubstr("no word for the byte 0x00"));
  EXPECT_THAT(refusal(good.vocabulary, "#version\na\n"), HasSubstr("line 2 of the merges, 'a'"));
  EXPECT_THAT(refusal(good.vocabulary, "a b c\n"), HasSubstr("two words and a blank"));
  EXPECT_THAT(refusal(good.vocabulary, "b b\n"), HasSubstr("not in the vocabulary"));
  EXPECT_THAT(refusal(good.vocabulary, "a a\na a\n"), HasSubstr("twice"));
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void hold_texts(const Gpt2Tokenizer& tokenizer, const nlohmann::json& cases,
                testing::TruthCount& count) {
  for (const auto& one : cases) {
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text), one["ids"].get<std::vector<Index>>()) << text;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    count.hold();
  }
}

// The texts and ids in whichever files of the folder hold such.
void hold_cases(const Gpt2Tokenizer& tokenizer, const std::filesystem::path& folder,
                testing::TruthCount& count) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto file = nlohmann::json::parse(contents(entry.path()), nullptr, false);
    if (!file.is_object() || !file.contains("cases") || !file["cases"].is_array()) continue;
    SCOPED_TRACE(entry.path().string());
    hold_texts(tokenizer, file["cases"], count);
  }
}

// OpenAI's own vocabulary, where it is at hand.
TEST(Gpt2TokenizerCases, TextsHaveTheIdsThatOthersFound) {
  std::vector<std::filesystem::path> places;
  for (const auto& place : testing::truth_places("data", "ATTNTOOLS_DATA_DIR", "")) {
    if (std::filesystem::exists(place / "gpt2-bpe")) places.push_back(place);
  }
  if (places.empty()) GTEST_SKIP() << "OpenAI's files are not here";
  testing::TruthCount count;
  for (const auto& place : places) {
    const std::filesystem::path files = place / "gpt2-bpe";
    const Gpt2Tokenizer tokenizer(contents(files / "encoder.json"), contents(files / "vocab.bpe"));
    EXPECT_EQ(tokenizer.vocab_size(), 50257);
    EXPECT_EQ(tokenizer.specials().eos, 50256);
    hold_cases(tokenizer, place, count);
  }
}

TEST(Gpt2TokenizerCases, AVocabularyOfOurOwn) {
  const std::filesystem::path folder = testing::source_folder() / "tests" / "data" / "gpt2";
  const Gpt2Tokenizer tokenizer(contents(folder / "vocab.json"), contents(folder / "merges.txt"));
  testing::TruthCount count;
  hold_cases(tokenizer, folder, count);
}

}  // namespace
}  // namespace attn
