#include "io/hdf5_rewrite.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "io/hdf5_reader.h"
#include "io/number_bytes.h"

namespace attn {
namespace {

Hdf5Image file_with(DType type, const std::vector<double>& numbers) {
  Hdf5Writer writer;
  writer.digest();
  const Shape shape{static_cast<Index>(numbers.size())};
  writer.dataset("/group/x", shape, type, *number_bytes(std::span<const double>(numbers), type));
  writer.attribute("/group/x", "unit", "steps");
  writer.dataset("/other", Tensor<double>({2}, {4, 5}));
  writer.attribute("/", "history", "made");
  writer.attribute("/", "causal", 1);
  return writer.finish();
}

Hdf5Reader read(const Hdf5Image& image) {
  const auto bytes = image.bytes();
  return Hdf5Reader::from_bytes({bytes.begin(), bytes.end()}, "x");
}

TEST(Hdf5Rewrite, ReplacesNumbersAndKeepsTheRest) {
  for (const DType type : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const Hdf5Image before = file_with(type, {1, 2, 3});
    const Hdf5Reader file = read(rewritten(
        before.bytes(), "x", {{"/group/x", Tensor<double>({3}, {-0.5, 0.25, 1024})}}, "again"));
    EXPECT_EQ(file.info("/group/x").type, type);
    EXPECT_EQ(file.read<double>("/group/x").values, (std::vector<double>{-0.5, 0.25, 1024}));
    EXPECT_EQ(file.text_attribute("/group/x", "unit"), "steps");
    EXPECT_EQ(file.read<double>("/other").values, (std::vector<double>{4, 5}));
    EXPECT_EQ(file.int_attribute("/", "causal"), 1);
    EXPECT_EQ(file.text_attribute("/", "history"), "again");
    EXPECT_FALSE(file.has_attribute("/", "content_digest")) << "it would no longer be true";
    EXPECT_EQ(read(before).read<double>("/group/x").values, (std::vector<double>{1, 2, 3}));
  }
}

TEST(Hdf5Rewrite, RoundsToTheNearest) {
  const Hdf5Image before = file_with(DType::kBF16, {1});
  // Between 1 and 1 + 2^-7, nearer to the latter.
  const Hdf5Reader file =
      read(rewritten(before.bytes(), "x", {{"/group/x", Tensor<double>({1}, {1 + 0x1.8p-8})}}, ""));
  EXPECT_EQ(file.read<double>("/group/x").values[0], 1 + 0x1p-7);
}

TEST(Hdf5Rewrite, RefusesWhatWouldLoseFractions) {
  const Hdf5Image before = file_with(DType::kI32, {1});
  EXPECT_THROW((void)rewritten(before.bytes(), "x", {{"/group/x", Tensor<double>({1}, {0.5})}}, ""),
               DataError);
}

}  // namespace
}  // namespace attn
