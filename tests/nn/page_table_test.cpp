#include "nn/page_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/rng.h"

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Index> pages(const PageTable& table, Index sequence) {
  return {table.pages(sequence).begin(), table.pages(sequence).end()};
}

TEST(PageTable, TakesPagesAsRowsCome) {
  PageTable table(4, 0);
  std::vector<PageCopy> copies;
  table.add();
  table.add();
  EXPECT_EQ(table.pages_in_use(), 0);
  table.extend(0, 4, copies);
  table.extend(1, 5, copies);
  table.extend(0, 1, copies);
  EXPECT_THAT(pages(table, 0), ElementsAre(0, 3));
  EXPECT_THAT(pages(table, 1), ElementsAre(1, 2));
  EXPECT_EQ(table.rows_in_use(), 10);
  table.remove(0);
  EXPECT_EQ(table.pages_in_use(), 2);
  table.extend(0, 8, copies);
  EXPECT_THAT(pages(table, 0), ElementsAre(1, 2, 0, 3)) << "the lowest free pages first";
  EXPECT_EQ(table.most_in_use(), 4);
  EXPECT_TRUE(copies.empty());
}

TEST(PageTable, SharesUntilOneWrites) {
  PageTable table(4, 0);
  std::vector<PageCopy> copies;
  table.add();
  table.extend(0, 6, copies);
  const Index three[] = {0, 0, 0};
  table.fork(three);
  EXPECT_EQ(table.pages_in_use(), 2);
  EXPECT_EQ(table.rows_in_use(), 6);
  table.extend(1, 1, copies);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].from, 1);
  EXPECT_EQ(copies[0].to, 2);
  EXPECT_EQ(copies[0].rows, 2) << "of the begun page, what was written";
  table.extend(2, 1, copies);
  table.extend(0, 1, copies);
  EXPECT_EQ(copies.size(), 2U) << "the last one that holds a page writes into it";
  EXPECT_EQ(table.rows_in_use(), 4 + 3 * 3);
  const Index one[] = {2};
  table.fork(one);
  EXPECT_EQ(table.pages_in_use(), 2);
  EXPECT_EQ(table.length(0), 7);
}

TEST(PageTable, AFullPageIsNeverCopied) {
  PageTable table(4, 0);
  std::vector<PageCopy> copies;
  table.add();
  table.extend(0, 8, copies);
  const Index two[] = {0, 0};
  table.fork(two);
  table.extend(0, 1, copies);
  table.extend(1, 1, copies);
  EXPECT_TRUE(copies.empty());
  EXPECT_EQ(table.pages_in_use(), 4);
}

TEST(PageTable, AFullPoolRefusesAndChangesNothing) {
  PageTable table(2, 3);
  std::vector<PageCopy> copies;
  table.add();
  table.add();
  table.extend(0, 3, copies);
  try {
    table.extend(1, 3, copies);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("2 more pages are wanted, 1 of 3 are free"));
  }
  EXPECT_EQ(table.length(1), 0);
  EXPECT_EQ(table.pages_in_use(), 2);
  table.extend(1, 2, copies);
  EXPECT_THROW(table.reserve(0, 6), DataError);
}

TEST(PageTable, TruncateGivesPagesBackButThoseReserved) {
  PageTable table(2, 0);
  std::vector<PageCopy> copies;
  table.add();
  table.reserve(0, 4);
  table.extend(0, 7, copies);
  EXPECT_EQ(table.pages_in_use(), 4);
  table.truncate(0, 1);
  EXPECT_EQ(table.pages_in_use(), 2);
  EXPECT_EQ(table.rows_in_use(), 1);
  EXPECT_THROW(table.truncate(0, 2), ShapeError);
}

TEST(PageTable, ForgetsWholePagesAtTheFront) {
  PageTable table(2, 0);
  std::vector<PageCopy> copies;
  table.add();
  table.extend(0, 7, copies);
  table.forget_before(0, 5);
  EXPECT_EQ(table.first(0), 4) << "row 4 shares a page with row 5";
  EXPECT_THAT(pages(table, 0), ElementsAre(2, 3));
  EXPECT_EQ(table.rows_in_use(), 2) << "it is held, but no longer used";
  table.extend(0, 2, copies);
  EXPECT_THAT(pages(table, 0), ElementsAre(2, 3, 0)) << "a page that was given back";
  EXPECT_EQ(table.rows_in_use(), 4);
  table.truncate(0, 6);
  EXPECT_EQ(table.rows_in_use(), 2) << "rows 4 and 5: what is shorter sees row 4 again";
  table.truncate(0, 0);
  EXPECT_EQ(table.pages_in_use(), 0);
  EXPECT_EQ(table.first(0), 0);
}

// Whatever is done, a page belongs to those that list it, and what a sequence wrote stays its own.
TEST(PageTable, KeepsWhatEachSequenceWrote) {
  Rng rng(3, RandomPurpose::kExample);
  PageTable table(3, 0);
  std::vector<std::vector<int>> written(1);       // of each sequence
  std::map<std::pair<Index, Index>, int> memory;  // (page, row of it)
  table.add();
  int next = 0;
  for (int step = 0; step < 3000; ++step) {
    const Index sequence = rng.below(table.sequences());
    const auto at = static_cast<std::size_t>(sequence);
    const Index what = rng.below(10);
    if (what < 6) {
      const Index count = 1 + rng.below(5);
      std::vector<PageCopy> copies;
      const Index before = table.length(sequence);
      table.extend(sequence, count, copies);
      for (const PageCopy& copy : copies) {
        for (Index row = 0; row < copy.rows; ++row)
          memory[{copy.to, row}] = memory[{copy.from, row}];
      }
      for (Index row = before; row < before + count; ++row) {
        const Index page = table.pages(sequence)[static_cast<std::size_t>(row / 3)];
        memory[{page, row % 3}] = next;
        written[at].push_back(next++);
      }
    } else if (what < 8) {
      std::vector<Index> parents;
      std::vector<std::vector<int>> forked;
      for (Index n = 1 + rng.below(4); n > 0; --n) {
        parents.push_back(rng.below(table.sequences()));
        forked.push_back(written[static_cast<std::size_t>(parents.back())]);
      }
      table.fork(parents);
      written = forked;
    } else if (what == 8) {
      const Index length = rng.below(table.length(sequence) + 1);
      table.truncate(sequence, length);
      written[at].resize(static_cast<std::size_t>(length));
    } else if (table.sequences() > 1) {
      table.remove(sequence);
      written.erase(written.begin() + sequence);
    }
    std::map<Index, int> holders;
    for (Index s = 0; s < table.sequences(); ++s) {
      const auto& rows = written[static_cast<std::size_t>(s)];
      ASSERT_EQ(table.length(s), static_cast<Index>(rows.size()));
      for (const Index page : table.pages(s)) ++holders[page];
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const Index page = table.pages(s)[row / 3];
        ASSERT_EQ((memory[{page, static_cast<Index>(row % 3)}]), rows[row]) << "step " << step;
      }
    }
    ASSERT_EQ(table.pages_in_use(), static_cast<Index>(holders.size()));
  }
}

}  // namespace
}  // namespace attn
