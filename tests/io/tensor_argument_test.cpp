#include "io/tensor_argument.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "io/hdf5_writer.h"
#include "io/output.h"
#include "support/process.h"

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string complaint(const std::string& text) {
  try {
    parse_numbers(text, "--q");
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(ParseNumbers, RowsEndAtSemicolonsAndLines) {
  const Tensor<double> matrix = parse_numbers("1 0;0\t-1e-3\n+2, 3;", "--q");
  EXPECT_THAT(matrix.shape, ElementsAre(3, 2));
  EXPECT_THAT(matrix.values, ElementsAre(1, 0, 0, -1e-3, 2, 3));
}

TEST(ParseNumbers, OneRowIsOneAxis) {
  EXPECT_THAT(parse_numbers("# f1 f2\n1 2 3\n", "x.tsv").shape, ElementsAre(3));
}

TEST(ParseNumbers, KnowsWhatIsNotFinite) {
  const Tensor<double> row = parse_numbers("nan -inf", "--q");
  EXPECT_TRUE(std::isnan(row.values[0]));
  EXPECT_EQ(row.values[1], -HUGE_VAL);
}

TEST(ParseNumbers, NamesWhatIsWrong) {
  EXPECT_EQ(complaint("1 2; 3 x"), "--q: 'x' is no number");
  EXPECT_EQ(complaint("1 2,5.5.5"), "--q: '5.5.5' is no number");
  EXPECT_EQ(complaint("1 2; 3"), "--q: row 2 has 1 numbers, row 1 has 2");
  EXPECT_EQ(complaint(" ; "), "--q: no numbers");
}

TEST(TensorArgument, NamesAFileThatIsNotThere) {
  const auto words = [](const std::string& value) -> std::string {
    try {
      tensor_argument(value, "--out");
    } catch (const DataError& error) {
      return error.what();
    } catch (const UsageError& error) {
      return std::string("usage: ") + error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(words("gone/out.npy"), "--out: gone/out.npy: No such file or directory");
  EXPECT_EQ(words("gone.h5:/out"), "--out: gone.h5: No such file or directory");
  EXPECT_EQ(words("1 2; x"), "usage: --out: 'x' is no number");
  EXPECT_EQ(missing_file("1 0; 0 1"), std::nullopt);
  EXPECT_EQ(missing_file("/layer0/out"), std::nullopt);
}

TEST(TensorArgument, NamesALinkThatLeadsNowhere) {
  const testing::TempFolder folder;
  std::filesystem::create_symlink(folder / "b", folder / "a");
  std::filesystem::create_symlink(folder / "a", folder / "b");
  std::filesystem::create_symlink(folder / "gone", folder / "dangling");
  const auto words = [&](const std::string& link) -> std::string {
    try {
      tensor_argument(folder / link, "--q");
    } catch (const DataError& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(words("a"), HasSubstr("/a: Too many levels of symbolic links"));
  EXPECT_THAT(words("dangling"), HasSubstr("/dangling: No such file or directory"));
}

TEST(TensorArgument, IsAFileWhereThereIsOneElseNumbers) {
  const testing::TempFolder folder;
  const std::string table = folder / "x.tsv";
  std::ofstream(table) << "# a b\n1\t2\n3\t4\n";
  EXPECT_THAT(tensor_argument(table, "--q").values, ElementsAre(1, 2, 3, 4));

  const std::string file = folder / "x.h5";
  Hdf5Writer writer;
  writer.dataset("/group/x", Tensor<float>({1, 2}, {5, 6}));
  writer.dataset("/group/y", Tensor<float>({1}, {7}));
  write_output(file, writer.finish());
  EXPECT_THAT(tensor_argument(file + ":/group/x", "--q").shape, ElementsAre(1, 2));
  EXPECT_THROW(tensor_argument(file, "--q"), DataError);  // which of the two?
  EXPECT_THROW(tensor_argument(file + ":/nothing", "--q"), DataError);

  EXPECT_THAT(tensor_argument("7 8", "--q").values, ElementsAre(7, 8));
  EXPECT_THROW(tensor_argument("seven", "--q"), UsageError);
}

}  // namespace
}  // namespace attn
