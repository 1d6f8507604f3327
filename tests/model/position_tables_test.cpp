#include "model/position_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"
#include "support/truth.h"

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
  const PositionTables tables = sinusoidal_tables(3, 4, 10000, kMaxBytes);
  const Matrix<const float> table = tables.parts.front().values.matrix();
  EXPECT_EQ(table(0, 0), 0.0F);
  EXPECT_EQ(table(0, 1), 1.0F);
  EXPECT_FLOAT_EQ(table(2, 0), static_cast<float>(std::sin(2.0)));
  EXPECT_FLOAT_EQ(table(2, 3), static_cast<float>(std::cos(2.0 / 100)));
  EXPECT_EQ(tables.parts.front().columns,
            (std::vector<std::string>{"sin_0", "cos_0", "sin_1", "cos_1"}));
}

TEST(PositionTables, AlibiIsZeroAtTheQueryAndFallsWithDistance) {
  const PositionTables tables = alibi_tables(3, 2, kMaxBytes);
  const float* bias = part(tables, "bias").values.data();
  // two heads: slopes 2^-4 and 2^-8
  EXPECT_EQ(bias[0], 0.0F);
  EXPECT_FALSE(std::signbit(bias[0]));
  EXPECT_EQ(bias[2], -2.0F / 16);
  EXPECT_EQ(bias[9 + 2], -2.0F / 256);
}

TEST(PositionTables, WhatDoesNotFitIsRefusedBeforeItIsMade) {
  EXPECT_THROW((void)sinusoidal_tables(1000, 1000, 10000, 3'999'999), DataError);
  EXPECT_NO_THROW((void)sinusoidal_tables(1000, 1000, 10000, 4'000'000));
  EXPECT_THROW((void)alibi_tables(Index{1} << 40, 8, kMaxBytes), DataError);
}

TEST(PositionTables, TheFileNamesItsAxes) {
  Hdf5Writer writer;
  write_position_tables(writer, rope_tables(5, 8, 10000, RopePairs::kHalves, kMaxBytes));
  const auto image = writer.finish();
  const auto bytes = image.bytes();
  const Hdf5Reader file = Hdf5Reader::from_bytes({bytes.begin(), bytes.end()}, "rope");
  EXPECT_EQ(file.text_attribute("/", "kind"), "rope");
  EXPECT_EQ(file.text_attribute("/", "convention"), "half_split");
  EXPECT_EQ(file.int_attribute("/", "head_dim"), 8);
  EXPECT_EQ(file.info("/cos").shape, (Shape{5, 4}));
  EXPECT_EQ(file.info("/positions").shape, Shape{5});
  EXPECT_EQ(file.info("/pairs").shape, Shape{4});
  EXPECT_TRUE(file.has_attribute("/cos", "DIMENSION_LIST"));
}

// One positional case: what is wanted of it, and where.
struct PositionCase {
  const Hdf5Reader& given;
  const Hdf5Reader& truth;
  std::vector<Index> positions;
};

// Tables are compared as stored in float32: 1e-6 and half a float's step of the largest phase
// (cases/posenc/README.md), position * frequency <= position.
void expect_rows(const PositionCase& c, const PositionPart& ours, const std::string& path) {
  const Tensor<double> wanted = c.truth.read<double>(path);
  const Matrix<const float> rows = ours.values.matrix();
  ASSERT_EQ(wanted.dim(-1), rows.cols()) << path;
  for (std::size_t i = 0; i < c.positions.size(); ++i) {
    const double limit = 1e-6 + std::ldexp(static_cast<double>(c.positions[i]), -22);
    for (Index j = 0; j < rows.cols(); ++j) {
      const auto at = static_cast<Index>(i);
      ASSERT_NEAR(rows(c.positions[i], j), wanted.matrix()(at, j), limit)
          << c.given.name() << " " << path << " (" << i << ", " << j << ")";
    }
  }
}

void expect_relative(const PositionCase& c, const PositionPart& ours, const std::string& path) {
  const Tensor<double> wanted = c.truth.read<double>(path);
  ASSERT_EQ(wanted.size(), ours.values.size()) << path;
  for (Index i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(ours.values.data()[i], wanted.data()[i], 1e-6 * std::abs(wanted.data()[i]))
        << c.given.name() << " " << path << " [" << i << "]";
  }
}

// False where the case needs what is not built yet.
bool hold(const PositionCase& c, Index length) {
  const std::string kind = c.given.text_attribute("/", "kind").value_or("");
  if (kind == "sinusoidal") {
    if (c.given.text_attribute("/", "convention") != "interleaved" ||
        c.given.text_attribute("/", "variant") != "vaswani") {
      return false;
    }
    const PositionTables ours =
        sinusoidal_tables(length, c.given.int_attribute("/", "dim").value(),
                          c.given.real_attribute("/", "base").value(), kMaxBytes);
    expect_rows(c, part(ours, "table"), "/table");
    return true;
  }
  if (kind == "rope") {
    const Index head_dim = c.given.int_attribute("/", "head_dim").value();
    if (c.given.text_attribute("/", "scaling") != "none" ||
        c.given.int_attribute("/", "rotary_dim").value_or(head_dim) != head_dim) {
      return false;
    }
    const PositionTables ours =
        rope_tables(length, head_dim, c.given.real_attribute("/", "theta").value(),
                    RopePairs::kHalves, kMaxBytes);
    expect_rows(c, part(ours, "cos"), "/cos");
    expect_rows(c, part(ours, "sin"), "/sin");
    expect_relative(c, part(ours, "inv_freq"), "/inv_freq");
    return true;
  }
  if (kind == "alibi") {
    // Ours has as many queries as keys; a case's n queries are the last of its m keys.
    const Tensor<double> bias = c.truth.read<double>("/bias");
    const Index n = bias.dim(1);
    const Index m = bias.dim(2);
    const Index heads = c.given.int_attribute("/", "heads").value();
    const PositionTables ours = alibi_tables(m, heads, kMaxBytes);
    expect_relative(c, part(ours, "slopes"), "/slopes");
    const float* all = part(ours, "bias").values.data();
    for (Index at = 0; at < bias.size(); ++at) {
      const Index row = at / m;
      const Index place = (row / n * m + m - n + row % n) * m + at % m;
      // A slope stored in float32, times an exact distance.
      EXPECT_NEAR(all[place], bias.data()[at], 1e-6 * std::abs(bias.data()[at])) << at;
    }
    return true;
  }
  return false;
}

TEST(PositionTablesCases, AreTheTruthOfEveryCaseOfThisKind) {
  testing::TruthCount count;
  constexpr Index kLongest = 1'000'000;
  for (const auto& folder : testing::case_places("posenc")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      const std::size_t suffix = name.find(".truth.h5");
      if (suffix == std::string::npos) continue;
      const Hdf5Reader truth = Hdf5Reader::open(entry.path().string());
      const Hdf5Reader given =
          Hdf5Reader::open((folder / (name.substr(0, suffix) + ".h5")).string());
      PositionCase c{given, truth, {}};
      Index length = 1;
      if (given.has_dataset("/positions")) {
        c.positions = given.read<Index>("/positions").values;
        for (const Index position : c.positions) length = std::max(length, position + 1);
      }
      if (length <= kLongest && hold(c, length)) {
        count.hold();
      } else {
        count.skip(entry.path(), "a kind or scaling that posenc-dump does not compute");
      }
    }
  }
}

}  // namespace
}  // namespace attn
