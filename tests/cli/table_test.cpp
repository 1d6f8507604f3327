#include "cli/table.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn::cli {
namespace {

Table example() {
  Table table({{"name", Table::Align::kLeft}, {"bytes"}});
  table.add({"a,b", "1,024"});
  table.add({"é", "7"});
  return table;
}

TEST(Table, AlignsColumnsByCharacters) {
  EXPECT_EQ(example().text(),
            "name  bytes\n"
            "a,b   1,024\n"
            "é         7\n");
}

TEST(Table, HeadersForProgramsBeginWithAHash) {
  EXPECT_EQ(example().tsv(), "#name\tbytes\na,b\t1,024\né\t7\n");
  EXPECT_EQ(example().csv(), "#name,bytes\n\"a,b\",\"1,024\"\né,7\n");
}

TEST(Table, CellsCannotBreakTheirLine) {
  EXPECT_EQ(tsv_cell("a\tb\nc"), "a b c");
  EXPECT_EQ(csv_cell("say \"no\""), "\"say \"\"no\"\"\"");
}

TEST(Table, MarkdownSaysTheAlignment) {
  EXPECT_EQ(example().markdown(), "| name | bytes |\n| --- | ---: |\n| a,b | 1,024 |\n| é | 7 |\n");
}

TEST(Table, ARowOfAnotherLengthIsABug) {
  Table table({{"a"}, {"b"}});
  EXPECT_THROW(table.add({"1"}), ShapeError);
}

TEST(Table, ABarInAMarkdownCellEndsNoCell) {
  Table table({{"name", Table::Align::kLeft}});
  table.add({"a|b"});
  EXPECT_EQ(table.markdown(), "| name |\n| --- |\n| a\\|b |\n");
}

}  // namespace
}  // namespace attn::cli
