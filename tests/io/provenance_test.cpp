#include "io/provenance.h"

#include <gtest/gtest.h>

#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

std::vector<std::byte> copy(const Hdf5Image& image) {
  return {image.bytes().begin(), image.bytes().end()};
}

TEST(Provenance, HistoryGrowsByOneLine) {
  EXPECT_EQ(extended_history("", "posenc-dump --dim 8"), "posenc-dump --dim 8");
  EXPECT_EQ(extended_history("first", "second"), "first\nsecond");
  EXPECT_EQ(extended_history("first\n", "two\nlines"), "first\ntwo lines");
}

TEST(Provenance, LongHistoryLosesItsOldestLinesAndSaysSo) {
  std::string history;
  for (int i = 0; i < 100; ++i) {
    history = extended_history(history, std::to_string(i) + std::string(1000, '.'));
    ASSERT_LT(history.size(), 32768U);
  }
  // 31 lines of 1002 or 1003 bytes with their ends fit into 32,000 bytes.
  EXPECT_TRUE(history.starts_with("(69 earlier lines left out)\n69..")) << history.substr(0, 60);
  EXPECT_NE(history.find("\n99.."), std::string::npos);
}

TEST(Provenance, RootAttributesAreReadBack) {
  Hdf5Writer writer;
  Provenance provenance;
  provenance.seed = 7;
  provenance.earlier_history = "a";
  provenance.command = "b --seed 7";
  write_provenance(writer, provenance);
  const Hdf5Reader reader = Hdf5Reader::from_bytes(copy(writer.finish()), "memory");
  EXPECT_EQ(reader.text_attribute("/", "format"), "attntools-tensors");
  EXPECT_EQ(reader.int_attribute("/", "format_version"), 1);
  EXPECT_EQ(reader.int_attribute("/", "seed"), 7);
  EXPECT_EQ(read_history(reader), "a\nb --seed 7");
}

TEST(Provenance, AnotherFormatVersionIsRefused) {
  for (const Index version : {Index{2}, Index{0}, Index{-1}}) {
    Hdf5Writer writer;
    Provenance provenance;
    provenance.format_version = version;
    write_provenance(writer, provenance);
    EXPECT_THROW(Hdf5Reader::from_bytes(copy(writer.finish()), "memory"), DataError) << version;
  }
}

TEST(Provenance, AFormatVersionInWordsIsRefusedInOurFilesOnly) {
  for (const char* format : {"attntools-checkpoint", "somebody-elses"}) {
    Hdf5Writer writer;
    writer.attribute("/", "format", format);
    writer.attribute("/", "format_version", "1");
    const bool ours = std::string(format) == "attntools-checkpoint";
    if (ours) {
      EXPECT_THROW(Hdf5Reader::from_bytes(copy(writer.finish()), "memory"), DataError);
    } else {
      EXPECT_NO_THROW(Hdf5Reader::from_bytes(copy(writer.finish()), "memory"));
    }
  }
}

}  // namespace
}  // namespace attn
