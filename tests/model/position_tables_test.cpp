#include "model/position_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.h"

namespace attn {
namespace {

constexpr Index kMaxBytes = Index{1} << 30;

const PositionPart& part(const PositionTables& tables, const std::string& name) {
  for (const PositionPart& one : tables.parts) {
    if (one.name == name) return one;
  }
  throw std::logic_error("no part " + name);
}

TEST(PositionTables, SinesAndCosinesTakeTurns) {
  const PositionTables tables = sinusoidal_tables({0, 1, 2}, {.dim = 4}, kMaxBytes);
  const Matrix<const double> table = part(tables, "table").values.matrix();
  EXPECT_EQ(table(0, 0), 0);
  EXPECT_EQ(table(0, 1), 1);
  EXPECT_EQ(table(2, 0), std::sin(2.0));
  EXPECT_DOUBLE_EQ(table(2, 3), std::cos(2.0 / 100));
  EXPECT_EQ(part(tables, "table").columns,
            (std::vector<std::string>{"sin_0", "cos_0", "sin_1", "cos_1"}));
  const double turn = 2 * std::acos(-1.0);
  EXPECT_DOUBLE_EQ(part(tables, "wavelength").values.data()[1], turn);
  EXPECT_DOUBLE_EQ(part(tables, "wavelength").values.data()[2], 100 * turn);
}

TEST(PositionTables, ConcatenatedNamesItsColumnsInOrder) {
  const PositionTables tables =
      sinusoidal_tables({7}, {.dim = 5, .base = 100, .form = {.concatenated = true}}, kMaxBytes);
  EXPECT_EQ(part(tables, "table").columns,
            (std::vector<std::string>{"sin_0", "sin_1", "sin_2", "cos_0", "cos_1"}));
  EXPECT_EQ(part(tables, "table").values.values[3], std::cos(7.0));
}

TEST(PositionTables, AlibiIsZeroAtTheQueryAndFallsWithDistance) {
  const PositionTables tables = alibi_tables({2, 3, 3}, kMaxBytes);
  const double* bias = part(tables, "bias").values.data();
  // two heads: slopes 2^-4 and 2^-8
  EXPECT_EQ(bias[0], 0);
  EXPECT_FALSE(std::signbit(bias[0]));
  EXPECT_EQ(bias[2], -2.0 / 16);
  EXPECT_EQ(bias[9 + 2], -2.0 / 256);
}

TEST(PositionTables, TheLastQueryStandsAtTheLastKey) {
  const PositionTables tables = alibi_tables({1, 1, 3, true}, kMaxBytes);
  EXPECT_EQ(part(tables, "bias").values.values, (std::vector<double>{-2.0 / 256, -1.0 / 256, 0}));
  const PositionTables later = alibi_tables({1, 2, 2, true}, kMaxBytes);
  EXPECT_EQ(part(later, "bias").values.data()[1], -HUGE_VAL) << "a key after the query";
  const PositionTables buckets = t5_tables({1, 3}, kMaxBytes);
  EXPECT_EQ(part(buckets, "relative_position").values.values, (std::vector<double>{-2, -1, 0}));
  EXPECT_EQ(part(buckets, "bucket").values.values, (std::vector<double>{2, 1, 0}));
}

TEST(PositionTables, ScaledRopeSaysHowItWasScaled) {
  RopeSettings settings{.head_dim = 8, .rotary_dim = 4, .theta = 100};
  settings.scaling = {
      .kind = RopeScalingKind::kYarn, .factor = 4, .original_max_positions = 64, .mscale = 1.0};
  const PositionTables tables = rope_tables({0, 9}, settings, kMaxBytes);
  const auto has = [&](const std::string& name, const PositionAttribute& value) {
    return std::count(tables.attributes.begin(), tables.attributes.end(),
                      std::pair<std::string, PositionAttribute>(name, value)) == 1;
  };
  EXPECT_TRUE(has("scaling", "yarn"));
  EXPECT_TRUE(has("original_max_position_embeddings", Index{64}));
  EXPECT_TRUE(has("mscale", 1.0));
  EXPECT_NEAR(part(tables, "cos").values.data()[0], 0.1 * std::log(4.0) + 1, 1e-15);
  EXPECT_EQ(part(tables, "wavelength").values.data()[7], HUGE_VAL) << "it does not turn";
}

TEST(PositionTables, RoundedToATypeKeepsWholeNumbers) {
  const PositionTables f16 = rounded_to(DType::kF16, sinusoidal_tables({1}, {.dim = 2}, kMaxBytes));
  EXPECT_EQ(part(f16, "table").values.data()[0], 0.84130859375) << "sin 1 in ten bits";
  const PositionTables t5 = rounded_to(DType::kBF16, t5_tables({1, 400}, kMaxBytes));
  EXPECT_EQ(part(t5, "relative_position").values.data()[0], -399);
}

TEST(PositionTables, WhatDoesNotFitIsRefusedBeforeItIsMade) {
  const std::vector<Index> thousand(1000, 0);
  EXPECT_THROW((void)sinusoidal_tables(thousand, {.dim = 1000}, 7'999'999), DataError);
  EXPECT_NO_THROW((void)sinusoidal_tables(thousand, {.dim = 1000}, 8'000'000));
  EXPECT_THROW((void)alibi_tables({8, Index{1} << 40, Index{1} << 40}, kMaxBytes), DataError);
}

TEST(PositionTables, TheFileNamesItsAxes) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    Hdf5Writer writer;
    write_position_tables(
        writer, rounded_to(dtype, rope_tables({3, 4, 5, 6, 9}, {.head_dim = 8, .rotary_dim = 8},
                                              kMaxBytes)));
    const auto image = writer.finish();
    const auto bytes = image.bytes();
    const Hdf5Reader file = Hdf5Reader::from_bytes({bytes.begin(), bytes.end()}, "rope");
    EXPECT_EQ(file.text_attribute("/", "kind"), "rope");
    EXPECT_EQ(file.text_attribute("/", "convention"), "half_split");
    EXPECT_EQ(file.int_attribute("/", "head_dim"), 8);
    EXPECT_EQ(file.info("/cos").shape, (Shape{5, 4}));
    EXPECT_EQ(file.info("/cos").type, dtype);
    EXPECT_EQ(file.read<Index>("/positions").values, (std::vector<Index>{3, 4, 5, 6, 9}));
    EXPECT_EQ(file.info("/pairs").shape, Shape{4});
    EXPECT_TRUE(file.has_attribute("/cos", "DIMENSION_LIST"));
  }
}

}  // namespace
}  // namespace attn
