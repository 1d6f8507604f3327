#include "io/tensor_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

using ::testing::ElementsAre;

TensorFile as_hdf5(const TensorSet& set) {
  Hdf5Writer writer;
  set.write(writer);
  const Hdf5Image image = writer.finish();
  const auto bytes = image.bytes();
  return TensorFile::from_bytes({bytes.begin(), bytes.end()}, "x.h5");
}

TensorFile as_npz(const TensorSet& set) {
  return TensorFile::from_bytes(set.npz(), "x.npz");
}

// What each type keeps of 1, -3 and 2.71875 (all exact in bf16), and of 1.001, which only the wide
// ones keep.
TEST(TensorSet, EveryTypeComesBackFromBothFormats) {
  const std::vector<DType> floats = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16};
  const std::vector<DType> integers = {DType::kI64, DType::kI32, DType::kI16, DType::kI8};
  TensorSet set;
  for (const DType type : floats) {
    set.put(dtype_name(type), Tensor<double>({3}, {1, -3, 2.71875}), type);
  }
  for (const DType type : integers) {
    set.put(dtype_name(type), Tensor<double>({1, 3}, {1, -3, 100}), type);
  }
  for (const TensorFile& file : {as_hdf5(set), as_npz(set)}) {
    for (const DType type : floats) {
      const std::string name(dtype_name(type));
      EXPECT_THAT(file.read<double>(name).values, ElementsAre(1, -3, 2.71875)) << name;
      // NumPy has no bf16 of its own.
      const bool kept = file.is_hdf5() || type != DType::kBF16;
      EXPECT_EQ(file.info(name).type, kept ? type : DType::kF32) << file.name();
    }
    for (const DType type : integers) {
      const std::string name(dtype_name(type));
      EXPECT_THAT(file.read<double>(name).values, ElementsAre(1, -3, 100)) << name;
      EXPECT_EQ(file.info(name).type, type);
    }
  }
}

TEST(TensorSet, ValuesRoundToTheirType) {
  TensorSet set;
  set.put("x", Tensor<double>({}, {1.001}), DType::kBF16);
  EXPECT_EQ(as_hdf5(set).read<double>("x").values.front(), 1.0);
  EXPECT_THROW(set.put("y", Tensor<double>({}, {0.5}), DType::kI32), DataError);
  EXPECT_THROW(set.put("y", Tensor<double>({}, {256}), DType::kU8), DataError);
  EXPECT_THROW(set.put("y", Tensor<double>({}, {-1}), DType::kU64), DataError);
}

TEST(TensorSet, AttributesAreSingleArraysOfAnArchive) {
  TensorSet set;
  set.put("q", Tensor<double>({1}, {5}), DType::kF32);
  set.put(TensorSet::Attribute{"/", "causal", Index{1}});
  set.put(TensorSet::Attribute{"/", "scale", 0.1});
  set.put(TensorSet::Attribute{"/", "word", std::string("\xc3\xa4 is a letter")});
  for (const TensorFile& file : {as_hdf5(set), as_npz(set)}) {
    EXPECT_EQ(file.int_attribute("/", "causal"), 1);
    EXPECT_EQ(file.real_attribute("/", "scale"), 0.1);
    EXPECT_EQ(file.text_attribute("/", "word"), "\xc3\xa4 is a letter");
  }
}

TEST(TensorSet, TakesAllOfAFile) {
  TensorSet set;
  set.put("/group/q", Tensor<double>({1, 2}, {5, 6}), DType::kF16);
  set.put(TensorSet::Attribute{"/", "causal", Index{1}});
  for (const TensorFile& file : {as_hdf5(set), as_npz(set)}) {
    TensorSet copy;
    std::vector<std::string> left_out;
    copy.add_all(file, left_out);
    ASSERT_EQ(copy.tensors().size(), 1U);
    EXPECT_EQ(copy.tensors()[0].bytes, set.tensors()[0].bytes);
    EXPECT_EQ(copy.tensors()[0].type, DType::kF16);
    ASSERT_EQ(copy.attributes().size(), 1U);
    EXPECT_EQ(std::get<Index>(copy.attributes()[0].value), 1);
    EXPECT_TRUE(left_out.empty());
  }
}

TEST(TensorSet, TheLastOfANameStays) {
  TensorSet set;
  set.put("q", Tensor<double>({1}, {5}), DType::kF32);
  set.put("/q", Tensor<double>({1}, {6}), DType::kF32);
  EXPECT_EQ(set.tensors().size(), 1U);
  EXPECT_EQ(as_npz(set).read<double>("/q").values.front(), 6);
  EXPECT_THROW(set.put("q/k", Tensor<double>({1}, {6}), DType::kF32), DataError);
}

}  // namespace
}  // namespace attn
