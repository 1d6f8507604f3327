#include "train/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"
#include "io/hdf5_writer.h"
#include "ops/cross_entropy.h"
#include "text/char_tokenizer.h"
#include "train/file_tokens.h"
#include "train/text_lines.h"
#include "train/text_vocabulary.h"

namespace attn {
namespace {

using ::testing::HasSubstr;

TextScan scan_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  std::vector<ByteSource> files;
  files.push_back(ByteSource::from_bytes({bytes.begin(), bytes.end()}, "names.txt"));
  return scan_text(std::move(files), TextUnit::kCharacters);
}

template <class Problem>
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Problem& problem) {
    return problem.what();
  }
  return "(accepted)";
}

const std::string kNames = "ab\nb\n\nabba\naa\nbab";

DocumentData names(std::optional<Index> seq_len = {}, const std::string& text = kNames) {
  DocumentData::Settings settings;
  settings.vocab_size = 3;
  settings.bos = settings.eos = settings.pad = Index{0};
  settings.seq_len = seq_len;
  settings.held_out = 0.4;
  return {std::make_shared<LineDocuments>(TextLines(scan_of(text)),
                                          std::make_shared<CharTokenizer>("\nab")),
          settings, "names.txt: lines"};
}

TEST(HoldOut, TakesAShareOfAFixedShuffle) {
  const HeldOut split = hold_out(1000, 0.1, "t");
  EXPECT_EQ(split.held_out.size(), 100U);
  EXPECT_EQ(split.training.size(), 900U);
  std::set<Index> all(split.training.begin(), split.training.end());
  all.insert(split.held_out.begin(), split.held_out.end());
  EXPECT_EQ(all.size(), 1000U);
  EXPECT_EQ(hold_out(1000, 0.1, "t").held_out, split.held_out);
  EXPECT_EQ(hold_out(2, 0.01, "t").held_out.size(), 1U);
  EXPECT_EQ(hold_out(2, 0.99, "t").training.size(), 1U);
  EXPECT_THAT(refusal<DataError>([] { hold_out(1, 0.1, "names.txt: lines"); }),
              HasSubstr("names.txt: lines: 1 came, at least 2 are needed"));
  EXPECT_THROW(hold_out(5, 1, "t"), UsageError);
}

TEST(DocumentData, ANameStandsBetweenLineEnds) {
  const DocumentData data = names();
  EXPECT_EQ(data.seq_len(), 5) << "the end after the longest, abba";
  EXPECT_EQ(data.training_documents(), 3);
  EXPECT_EQ(data.held_out_documents(), 2);
  const Batch batch = data.training_batch(0, 16);
  for (Index row = 0; row < batch.batch; ++row) {
    const auto at = static_cast<std::size_t>(row * batch.seq_len);
    ASSERT_EQ(batch.ids[at], 0);
    Index i = 0;
    for (; batch.targets[at + static_cast<std::size_t>(i)] != 0; ++i) {
      ASSERT_EQ(batch.ids[at + static_cast<std::size_t>(i) + 1],
                batch.targets[at + static_cast<std::size_t>(i)]);
    }
    for (++i; i < batch.seq_len; ++i) {
      ASSERT_EQ(batch.targets[at + static_cast<std::size_t>(i)], kIgnoreIndex);
      ASSERT_EQ(batch.key_mask[at + static_cast<std::size_t>(i)], 0);
    }
  }
  EXPECT_EQ(data.evaluation_batch().batch, 2);
  EXPECT_EQ(data.training_sample()->batch, 2);
}

TEST(DocumentData, NamesALineThatIsTooLongOrUnknown) {
  EXPECT_EQ(refusal<DataError>([] { names(4); }),
            "names.txt: line 4: its 4 tokens need --seq-len 5, more than 4");
  EXPECT_EQ(names(9).seq_len(), 9);
  EXPECT_EQ(refusal<DataError>([] { names({}, "ab\n\nax"); }),
            "names.txt: line 3: character 'x' (U+0078) at byte 1 is not in the vocabulary");
}

LinePairs line_pairs(const std::string& text, std::optional<Index> longest = {}) {
  LinePairs::Settings settings;
  settings.longest = longest;
  return {TextLines(scan_of(text)), std::make_shared<CharTokenizer>("abc"), settings, "p.tsv"};
}

TEST(TextLines, ACarriageReturnBeforeTheEndIsNoPartOfALine) {
  const TextScan scan = scan_of("ab\r\n\r\na\rb\nb\r");
  const TextLines lines(scan);
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(lines.line(0), "ab");
  EXPECT_EQ(lines.line(1), "a\rb");
  EXPECT_EQ(lines.line(2), "b");
  EXPECT_EQ(lines.where(1), "names.txt: line 3");
  const auto size = [](const std::string& text, TextUse use) {
    return make_text_tokenizer(scan_of(text), use)->vocab_size();
  };
  EXPECT_EQ(size("ab\r\na\r", TextUse::kLines), 3) << "a, b and the line end";
  EXPECT_EQ(size("ab\r\na\rb", TextUse::kLines), 4) << "one in a line is a token";
  EXPECT_EQ(size("ab\r\n", TextUse::kWindows), 4) << "as the text stands";
}

TEST(LinePairs, EachLineIsASourceAndATarget) {
  const LinePairs maker = line_pairs("ab\tba\nc\tccc\n");
  EXPECT_EQ(maker.longest_source(), 2);
  EXPECT_EQ(maker.longest_target(), 3);
  std::vector<Pair> all = maker.evaluation_pairs();
  const std::vector<Pair> sample = maker.training_sample();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(sample.size(), 1U);
  Rng rng(0, RandomPurpose::kTrainingData);
  EXPECT_EQ(maker.training_pair(rng), sample[0]) << "the only one that is not held out";
  all.push_back(sample[0]);
  EXPECT_THAT(all, ::testing::UnorderedElementsAre(Pair{{0, 1}, {1, 0}}, Pair{{2}, {2, 2, 2}}));
}

TEST(LinePairs, NamesALineThatIsNone) {
  for (const char* line : {"abba", "ab\t", "\tba", "a\tb\tc"}) {
    EXPECT_THAT(refusal<DataError>([&] { line_pairs(std::string("a\tb\n") + line + "\na\tb"); }),
                HasSubstr("names.txt: line 2: wanted a source, a tab and a target"))
        << line;
  }
  EXPECT_THAT(refusal<DataError>([] { line_pairs("a\tb\nab\tabc", 2); }),
              HasSubstr("line 2: its 3 tokens are more than --seq-len 2"));
}

std::shared_ptr<const FileTokens> file_tokens(const Shape& shape, std::vector<Index> ids,
                                              Index vocab_size = 0) {
  Hdf5Writer writer;
  writer.dataset<Index>("/tokens", shape, ids.data());
  if (vocab_size > 0) writer.attribute("/tokens", "vocab_size", vocab_size);
  const Hdf5Image image = writer.finish();
  return std::make_shared<FileTokens>(
      Hdf5Reader::from_bytes({image.bytes().begin(), image.bytes().end()}, "ids.h5"));
}

TEST(FileTokens, AStreamIsReadWhereItIsNeeded) {
  const auto tokens = file_tokens({6}, {3, 1, 4, 1, 5, 0});
  const FileTokenStream stream(tokens);
  EXPECT_TRUE(tokens->is_stream());
  EXPECT_EQ(stream.size(), 6);
  EXPECT_EQ(stream.counts(), (std::vector<Index>{1, 2, 0, 1, 1, 1}));
  std::vector<Index> part(3);
  stream.read(2, part);
  EXPECT_EQ(part, (std::vector<Index>{4, 1, 5}));
  EXPECT_EQ(file_tokens({2}, {0, 1}, 9)->counts().size(), 9U);
  EXPECT_NE(file_tokens({6}, {3, 1, 4, 1, 5, 1})->digest(), tokens->digest());
  EXPECT_NE(file_tokens({2, 3}, {3, 1, 4, 1, 5, 0})->digest(), tokens->digest());
}

TEST(FileTokens, RowsAreSequences) {
  const FileTokenRows rows(file_tokens({2, 3}, {3, 1, 2, 4, 0, -1}));
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.tokens(0), (std::vector<Index>{3, 1, 2}));
  EXPECT_EQ(rows.tokens(1), (std::vector<Index>{4, 0}));
  EXPECT_EQ(rows.where(1), "ids.h5: /tokens: row 1");
}

TEST(FileTokens, NamesTheIdThatIsNone) {
  EXPECT_THAT(refusal<DataError>([] {
                file_tokens({3}, {0, -1, 2});
              }),
              HasSubstr("ids.h5: /tokens: place 1, the id -1 is not within 0"));
  EXPECT_THAT(refusal<DataError>([] {
                file_tokens({3}, {0, 1, 2}, 2);
              }),
              HasSubstr("place 2, the id 2 is not within 0 to 1"));
  EXPECT_THAT(refusal<DataError>([] {
                file_tokens({1, 3}, {0, -1, 2});
              }),
              HasSubstr("row 0, column 2, a token after the row's end (-1)"));
  EXPECT_THAT(refusal<DataError>([] {
                file_tokens({1, 1, 1}, {0});
              }),
              HasSubstr("got the shape (1, 1, 1)"));
  EXPECT_THAT(refusal<DataError>([] { file_tokens({2, 1}, {-1, -1}); }), HasSubstr("no token"));
}

}  // namespace
}  // namespace attn
