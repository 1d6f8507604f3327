#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "io/hdf5_reader.h"
#include "io/hdf5_writer.h"

namespace attn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> copy(const Hdf5Image& image) {
  return {image.bytes().begin(), image.bytes().end()};
}

Hdf5Reader read_back(Hdf5Writer& writer, const ReadLimits& limits = {}) {
  return Hdf5Reader::from_bytes(copy(writer.finish()), "memory", limits);
}

template <class Call>
std::string data_error(const Call& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no DataError";
}

template <class T>
class Hdf5RoundTrip : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int64_t, std::int32_t, std::uint8_t>;
TYPED_TEST_SUITE(Hdf5RoundTrip, Types);

TYPED_TEST(Hdf5RoundTrip, KeepsShapeTypeAndBits) {
  Tensor<TypeParam> tensor({2, 3, 4});
  std::iota(tensor.values.begin(), tensor.values.end(), TypeParam{0});
  tensor.values.back() = std::numeric_limits<TypeParam>::max();
  Hdf5Writer writer;
  writer.dataset("/x", tensor);
  const Hdf5Reader reader = read_back(writer);
  const Tensor<TypeParam> back = reader.read<TypeParam>("x");
  EXPECT_EQ(back.shape, tensor.shape);
  EXPECT_EQ(back.values, tensor.values);
  EXPECT_EQ(reader.info("/x").size, 24);
}

TEST(Hdf5, ScalarsAndEmptyTensors) {
  Hdf5Writer writer;
  writer.dataset("/scalar", Tensor<double>({}, {3.25}));
  writer.dataset("/empty", Tensor<float>({2, 0, 4}));
  const Hdf5Reader reader = read_back(writer);
  EXPECT_EQ(reader.read<float>("/scalar").values, std::vector<float>{3.25F});
  EXPECT_TRUE(reader.info("/scalar").shape.empty());
  EXPECT_THAT(reader.read<float>("/empty").shape, ElementsAre(2, 0, 4));
}

TEST(Hdf5, DotsAreNamesAndSlashesAreGroups) {
  Hdf5Writer writer;
  writer.dataset("/parameters/blocks.0.attn.q_proj.weight", Tensor<float>({1}, {1.0F}));
  writer.dataset("/parameters/blocks.0.attn.q_proj.bias", Tensor<float>({1}, {2.0F}));
  writer.group("/training");
  const Hdf5Reader reader = read_back(writer);
  EXPECT_THAT(reader.children("/"), ElementsAre("parameters", "training"));
  EXPECT_THAT(reader.children("/parameters"),
              ElementsAre("blocks.0.attn.q_proj.bias", "blocks.0.attn.q_proj.weight"));
  EXPECT_TRUE(reader.has_group("/parameters"));
  EXPECT_FALSE(reader.has_dataset("/parameters"));
  EXPECT_FALSE(reader.has_dataset("/parameters/blocks"));
  EXPECT_THAT(data_error([&] { static_cast<void>(reader.children("/parameters", 1)); }),
              HasSubstr("memory: /parameters holds more than 1 names"));
}

TEST(Hdf5, IntegersStayExactAndFractionsAreNoIntegers) {
  constexpr std::int64_t kBeyondDouble = (std::int64_t{1} << 53) + 1;
  Hdf5Writer writer;
  writer.dataset("/ids", Tensor<std::int64_t>({2}, {kBeyondDouble, -100}));
  writer.dataset("/reals", Tensor<double>({2}, {2.0, 2.5}));
  const Hdf5Reader reader = read_back(writer);
  EXPECT_THAT(reader.read<std::int64_t>("/ids").values, ElementsAre(kBeyondDouble, -100));
  EXPECT_EQ(data_error([&] { reader.read<std::int32_t>("/ids"); }),
            "memory: /ids holds 9007199254740992 at (0), want whole numbers from -2147483648 to "
            "2147483647");
  EXPECT_EQ(data_error([&] { reader.read<std::uint8_t>("/reals"); }),
            "memory: /reals holds 2.5 at (1), want whole numbers from 0 to 255");
}

TEST(Hdf5, RowsAreReadWithoutTheRest) {
  Tensor<float> tensor({4, 2, 3});
  std::iota(tensor.values.begin(), tensor.values.end(), 0.0F);
  Hdf5Writer writer;
  writer.dataset("/x", tensor);
  const Hdf5Reader reader = read_back(writer);
  std::vector<double> rows(12);
  reader.read_rows("/x", 1, 2, rows.data());
  for (int i = 0; i < 12; ++i) EXPECT_EQ(rows[static_cast<std::size_t>(i)], 6 + i);
  EXPECT_THROW(reader.read_rows("/x", 3, 2, rows.data()), ShapeError);
}

TEST(Hdf5, RunsAreReadFromWhatLiesInOnePiece) {
  Tensor<float> tensor({2, 3, 4});
  std::iota(tensor.values.begin(), tensor.values.end(), 0.0F);
  Hdf5Writer writer;
  writer.dataset("/x", tensor);
  writer.dataset("/empty", Tensor<float>({2, 0, 4}));
  const Hdf5Reader reader = read_back(writer);
  ASSERT_TRUE(reader.in_one_piece("/x"));
  EXPECT_FALSE(reader.in_one_piece("/empty"));
  std::vector<double> runs(6);
  reader.read_runs("/x", 5, 2, 8, 2, runs.data());
  EXPECT_THAT(std::vector(runs.begin(), runs.begin() + 4), ElementsAre(5, 6, 13, 14));
  reader.read_runs("/x", 18, 2, 2, 3, runs.data());
  EXPECT_THAT(runs, ElementsAre(18, 19, 20, 21, 22, 23));
  EXPECT_THROW(reader.read_runs("/x", 18, 2, 3, 3, runs.data()), ShapeError);
}

TEST(Hdf5, Attributes) {
  Hdf5Writer writer;
  writer.dataset("/x", Tensor<float>({1}));
  writer.attribute("/", "heads", Index{8});
  writer.attribute("/", "norm_eps", 1e-5);
  writer.attribute("/", "arch", "decoder");
  writer.attribute("/", "nothing", "");
  writer.attribute("/x", "axes", "row");
  const std::vector<Index> sizes = {1, 2, 3};
  writer.attribute("/x", "sizes", std::span<const Index>(sizes));
  const Hdf5Reader reader = read_back(writer);
  EXPECT_EQ(reader.int_attribute("/", "heads"), 8);
  EXPECT_EQ(reader.real_attribute("/", "heads"), 8.0);
  EXPECT_EQ(reader.real_attribute("/", "norm_eps"), 1e-5);
  EXPECT_EQ(reader.text_attribute("/", "arch"), "decoder");
  EXPECT_EQ(reader.text_attribute("/", "nothing"), "");
  EXPECT_EQ(reader.text_attribute("/x", "axes"), "row");
  EXPECT_EQ(reader.int_array_attribute("/x", "sizes"), sizes);
  EXPECT_EQ(reader.int_attribute("/", "absent"), std::nullopt);
  EXPECT_EQ(reader.attribute_kind("/", "heads"), AttributeKind::kInteger);
  EXPECT_EQ(reader.attribute_kind("/", "norm_eps"), AttributeKind::kReal);
  EXPECT_EQ(reader.attribute_kind("/", "arch"), AttributeKind::kText);
  EXPECT_EQ(reader.attribute_kind("/x", "sizes"), AttributeKind::kOther);
  EXPECT_EQ(reader.attribute_kind("/", "absent"), std::nullopt);
  EXPECT_EQ(reader.int_attribute("/absent", "heads"), std::nullopt);
  EXPECT_EQ(data_error([&] { static_cast<void>(reader.int_attribute("/", "norm_eps")); }),
            "memory: /: attribute 'norm_eps' is 1e-05, want a whole number");
  EXPECT_EQ(data_error([&] { static_cast<void>(reader.int_attribute("/", "arch")); }),
            "memory: /: attribute 'arch' has type string, want a number");
  EXPECT_EQ(data_error([&] { static_cast<void>(reader.text_attribute("/", "heads")); }),
            "memory: /: attribute 'heads' has type i64, want text");
}

Hdf5Image sample(bool with_digest) {
  Tensor<float> tensor({2, 3});
  std::iota(tensor.values.begin(), tensor.values.end(), 0.5F);
  Hdf5Writer writer;
  if (with_digest) writer.digest();
  writer.dataset("/parameters/w", tensor);
  writer.dataset("/position", Tensor<std::int64_t>({3}, {0, 1, 2}));
  writer.labels("/tokens", {"a", "longer"});
  writer.attribute("/", "heads", Index{8});
  writer.scale("/parameters/w", 1, "/position", "position");
  writer.scale("/parameters/w", 0, "/tokens", "token");
  return writer.finish();
}

TEST(Hdf5, SameCallsGiveTheSameBytes) {
  EXPECT_EQ(copy(sample(true)), copy(sample(true)));
}

TEST(Hdf5, TwoReadersAtOnceDoNotMeet) {
  Hdf5Writer first;
  first.dataset("/x", Tensor<float>({1}, {1.0F}));
  Hdf5Writer second;
  second.dataset("/x", Tensor<float>({1}, {2.0F}));
  const Hdf5Reader a = read_back(first);
  const Hdf5Reader b = read_back(second);
  EXPECT_EQ(a.read<float>("/x").values.front(), 1.0F);
  EXPECT_EQ(b.read<float>("/x").values.front(), 2.0F);
}

TEST(Hdf5, LimitCountsTheSumOfTheTensors) {
  Hdf5Writer writer;
  writer.dataset("/a", Tensor<float>({1000}));
  writer.dataset("/b", Tensor<float>({1000}));
  const Hdf5Reader reader = read_back(writer, {.max_bytes = 11000, .verify_digest = true});
  EXPECT_NO_THROW(reader.read<float>("/a"));
  EXPECT_NO_THROW(reader.read<float>("/a"));  // the same tensor again is no second one
  EXPECT_NO_THROW(reader.read<float>("/b"));
  EXPECT_THAT(data_error([&] { reader.read<double>("/b"); }), HasSubstr("--max-bytes"));
}

TEST(Hdf5, FlippedBitsAreRefusedOrHarmless) {
  const std::vector<std::byte> whole = copy(sample(true));
  const auto good = Hdf5Reader::from_bytes(whole, "memory").read<float>("/parameters/w");
  int refused = 0;
  // One bit of every 11th byte: all parts of the file, each bit in turn.
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    std::vector<std::byte> flipped = whole;
    flipped[at] ^= static_cast<std::byte>(1U << (at % 8));
    try {
      const Hdf5Reader reader = Hdf5Reader::from_bytes(flipped, "memory");
      ASSERT_EQ(reader.read<float>("/parameters/w").values, good.values) << "byte " << at;
      ASSERT_EQ(reader.int_attribute("/", "heads"), 8) << "byte " << at;
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(Hdf5, OtherBytesOfTheSameContentAreTheSameFile) {
  // As after h5repack: the digest of the bytes is wrong, that of the content is right.
  std::vector<std::byte> bytes = copy(sample(true));
  const std::string marker = "xxh3-128-image:";
  const auto* word = reinterpret_cast<const std::byte*>(marker.data());
  const auto at = std::search(bytes.begin(), bytes.end(), word, word + marker.size());
  ASSERT_NE(at, bytes.end());
  at[static_cast<std::ptrdiff_t>(marker.size())] ^= std::byte{1};
  EXPECT_NO_THROW(Hdf5Reader::from_bytes(bytes, "memory"));
  // Without the mark of the bytes the content alone counts.
  *at ^= std::byte{1};
  EXPECT_NO_THROW(Hdf5Reader::from_bytes(bytes, "memory"));
}

TEST(Hdf5, DigestComesBeforeTheData) {
  Hdf5Writer writer;
  writer.dataset("/x", Tensor<float>({1}));
  EXPECT_THROW(writer.digest(), ShapeError);
}

TEST(Hdf5, DigestIsOverTheContent) {
  std::vector<std::byte> bytes = copy(sample(true));
  const float value = 3.5F;
  const auto* pattern = reinterpret_cast<const std::byte*>(&value);
  const auto at = std::search(bytes.begin(), bytes.end(), pattern, pattern + sizeof(value));
  ASSERT_NE(at, bytes.end());
  *at ^= std::byte{1};
  EXPECT_THAT(data_error([&] { Hdf5Reader::from_bytes(bytes, "memory"); }),
              HasSubstr("damaged: its content does not match its digest"));
  const Hdf5Reader edited =
      Hdf5Reader::from_bytes(bytes, "memory", {.max_bytes = 1 << 20, .verify_digest = false});
  EXPECT_NE(edited.read<float>("/parameters/w").values[3], 3.5F);
}

}  // namespace
}  // namespace attn
