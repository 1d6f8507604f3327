#include "train/text_stream.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/text.h"
#include "train/text_vocabulary.h"

namespace attn {
namespace {

ByteSource source(const std::string& text, const std::string& name = "book.txt") {
  const auto bytes = std::as_bytes(std::span(text));
  return ByteSource::from_bytes({bytes.begin(), bytes.end()}, name);
}

std::vector<ByteSource> sources(const std::vector<std::string>& texts) {
  std::vector<ByteSource> all;
  for (const std::string& text : texts) all.push_back(source(text));
  return all;
}

std::vector<Index> read(const TokenStream& stream, Index first, Index count) {
  std::vector<Index> ids(static_cast<std::size_t>(count));
  stream.read(first, ids);
  return ids;
}

TextStream characters(const std::vector<std::string>& texts) {
  TextScan scan = scan_text(sources(texts), TextUnit::kCharacters);
  const auto tokenizer = std::make_shared<CharTokenizer>(scan.vocabulary());
  return {std::move(scan), tokenizer};
}

TEST(TextStream, FilesAreOneText) {
  const TextStream stream = characters({"abc", "ba"});
  EXPECT_EQ(stream.size(), 5);
  EXPECT_EQ(read(stream, 0, 5), (std::vector<Index>{0, 1, 2, 1, 0}));
  EXPECT_EQ(read(stream, 2, 2), (std::vector<Index>{2, 1}));
  EXPECT_EQ(stream.counts(), (std::vector<Index>{2, 2, 1}));
  EXPECT_THROW(read(stream, 4, 2), ShapeError);
}

// Characters of 1 to 4 bytes, many more than between two offsets, read at every place.
TEST(TextStream, ReadsAnywhereInATextThatIsNotAscii) {
  const std::vector<std::string> alphabet = {"a", "é", "€", "𝄞"};
  std::string text;
  std::vector<Index> expected;
  for (Index i = 0; i < 3 * TextScan::kStride; ++i) {
    const Index id = (i * i / 3 + i / 7) % 4;
    text += alphabet[static_cast<std::size_t>(id)];
    expected.push_back(id);
  }
  const TextStream stream = characters({text, "aé"});
  ASSERT_EQ(stream.size(), static_cast<Index>(expected.size()) + 2);
  for (Index first = 0; first + 7 <= static_cast<Index>(expected.size()); first += 5) {
    ASSERT_EQ(read(stream, first, 7),
              std::vector<Index>(expected.begin() + first, expected.begin() + first + 7))
        << first;
  }
  expected.insert(expected.end(), {0, 1});
  EXPECT_EQ(read(stream, 0, stream.size()), expected);
}

TEST(TextStream, TakesBytesAsTheyAre) {
  TextScan scan = scan_text(sources({"a\xff\n"}), TextUnit::kBytes);
  const TextStream stream(std::move(scan), std::make_shared<ByteTokenizer>());
  EXPECT_EQ(read(stream, 0, 3), (std::vector<Index>{'a', 255, '\n'}));
  EXPECT_EQ(stream.counts()[255], 1);
  EXPECT_EQ(stream.counts().size(), 256U);
}

TEST(TextStream, NamesACharacterThatAnEarlierTokenizerLacks) {
  TextScan scan = scan_text(sources({"abé"}), TextUnit::kCharacters);
  try {
    const TextStream stream(std::move(scan), std::make_shared<CharTokenizer>("ab"));
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(),
                 "book.txt: character 'é' (U+00E9) is not in the vocabulary of the tokenizer");
  }
}

TEST(TextScan, NamesTheFileAndTheByteOfInvalidUtf8) {
  std::vector<ByteSource> files;
  files.push_back(source("abc", "one.txt"));
  files.push_back(source("d\xe2\x82", "two.txt"));
  try {
    scan_text(std::move(files), TextUnit::kCharacters);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "two.txt: invalid UTF-8 at byte 1 (0xe2)");
  }
}

TEST(TextScan, DigestIsOfTheText) {
  const auto digest = [](const std::vector<std::string>& texts) {
    return scan_text(sources(texts), TextUnit::kCharacters).digest;
  };
  EXPECT_EQ(digest({"abc"}), digest({"ab", "c"})) << "files are one text";
  EXPECT_NE(digest({"abc"}), digest({"abd"}));
  EXPECT_EQ(digest({"abc"}).size(), 9U + 32U);
}

TEST(TextVocabulary, HasWhatTheUseNeeds) {
  const TextScan scan = scan_text(sources({"ba"}), TextUnit::kCharacters);
  EXPECT_EQ(make_text_tokenizer(scan, TextUse::kMasked)->specials().mask, 2);
  const auto lines = make_text_tokenizer(scan, TextUse::kLines);
  EXPECT_EQ(lines->vocab_size(), 3) << "the line end is there though it did not occur";
  EXPECT_EQ(lines->specials().bos, 0);
  EXPECT_EQ(lines->specials().eos, 0);
  const auto pairs = make_text_tokenizer(scan, TextUse::kTwoStackPairs);
  EXPECT_EQ(pairs->specials().bos, 0);
  EXPECT_EQ(pairs->specials().eos, 1);
  EXPECT_EQ(pairs->encode("ab"), (std::vector<Index>{2, 3}));
  const auto one = make_text_tokenizer(scan, TextUse::kOneStackPairs);
  EXPECT_EQ(one->encode("\t\n"), (std::vector<Index>{0, 1}));
  EXPECT_EQ(one->specials().eos, 1);
  EXPECT_THROW(require_roles(*one, TextUse::kMasked), UsageError);
  EXPECT_NO_THROW(require_roles(*pairs, TextUse::kTwoStackPairs));
}

}  // namespace
}  // namespace attn
