#include "ops/attend_queries.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/attend_runs.h"

namespace attn {
namespace {

template <class T>
void expect_right(const AttendCase& one) {
  const AttendInputs inputs = make_inputs(one);
  const AttendTables<T> tables(one, inputs);
  ASSERT_TRUE(fits_query_lanes<T>(one.q_len, tables.mask)) << one.name;
  const NaiveAttention want = naive_attention(one, inputs);
  const Attended<T> got = run_attend<T>(one, inputs);
  const double limit = tolerance<T>(one);
  expect_close(got.out, want.out, limit, one.name + " out");
  expect_close(got.lse, want.lse, 4 * limit, one.name + " lse");
  expect_close(got.weights, want.weights, limit, one.name + " weights");
}

// Widths that no block of features divides, and rows that leave lanes and vectors over.
TEST(AttendQueries, EveryWidthAndRestOfRows) {
  constexpr Index kRows[] = {5, 15, 16, 17, 33, 48, 63, 64, 65};
  for (Index width = 1; width <= 33; ++width) {
    const Index rows = kRows[width % 9];
    const AttendCase one{.name = "width " + std::to_string(width),
                         .shape = {2, 1, width, 34 - width},
                         .q_len = rows,
                         .kv_len = rows + width,
                         .causal = width % 2 == 0,
                         .offset = width};
    expect_right<float>(one);
    expect_right<double>(one);
  }
}

// Edges of what rows see at every place among the lanes of vectors and the keys of tiles.
TEST(AttendQueries, EveryOffsetAndWindow) {
  for (Index offset = -70; offset <= 140; offset += 7) {
    AttendCase one{.name = "offset " + std::to_string(offset),
                   .shape = {1, 1, 4, 3},
                   .q_len = 70,
                   .kv_len = 150,
                   .causal = true,
                   .offset = offset};
    expect_right<float>(one);
    one.window_left = 20 + offset / 7;
    expect_right<float>(one);
    one.causal = false;
    one.window_right = 3;
    one.sinks = true;
    one.mask_kv_len = 140;
    expect_right<float>(one);
    expect_right<double>(one);
  }
}

// A row that does not see a key is told nothing by it, to the bit, whatever the others see.
TEST(AttendQueries, NanInHiddenRowsChangesNoBit) {
  for (const Index width : {3, 16, 40}) {
    const AttendCase one{
        .name = "hidden", .shape = {2, 2, width, width}, .q_len = 90, .kv_len = 90, .causal = true};
    const AttendInputs clean = make_inputs(one);
    const Attended<float> want = run_attend<float>(one, clean);
    for (const Index key : {1, 15, 16, 40, 64, 89}) {
      AttendInputs poisoned = clean;
      for (Index d = 0; d < poisoned.k.dim(1); ++d) {
        poisoned.k.matrix()(key, d) = std::numeric_limits<double>::quiet_NaN();
        poisoned.v.matrix()(key, d) = std::numeric_limits<double>::infinity();
      }
      const Attended<float> got = run_attend<float>(one, poisoned);
      for (Index row = 0; row < 90; ++row) {
        for (Index c = 0; c < 2 * width; ++c) {
          const auto at = static_cast<std::size_t>(row * 2 * width + c);
          if (row < key) {
            ASSERT_EQ(got.out[at], want.out[at]) << key << ": " << row << ", " << c;
          } else {
            ASSERT_TRUE(std::isnan(got.out[at])) << key << ": " << row << ", " << c;
          }
        }
      }
    }
  }
}

// A key that a row sees has its NaN told even where its weight is too small for a number, in tiles
// with hidden keys and without.
TEST(AttendQueries, NanOfVanishingWeightIsToldWhereSeen) {
  constexpr Index kRows = 40;
  Tensor<float> q({kRows, 1}), k({kRows, 1}), v({kRows, 1});
  std::fill(q.values.begin(), q.values.end(), 1.0F);
  k.values[3] = -200;  // of weight exp(-200), of which float knows nothing
  v.values[3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<KvRun<float>> runs{{k.matrix(), v.matrix()}};
  for (const bool causal : {false, true}) {
    AttendMask<float> mask;
    mask.scale = 1;
    mask.causal = causal;
    Tensor<float> out({kRows, 1});
    Arena arena;
    attend<float>({1, 1, 1, 1}, q.matrix(), std::span<const KvRun<float>>(runs), mask, out.matrix(),
                  {}, arena);
    for (Index row = 0; row < kRows; ++row) {
      const bool sees = !causal || row >= 3;
      EXPECT_EQ(std::isnan(out.values[static_cast<std::size_t>(row)]), sees) << causal << row;
    }
  }
}

// Two keys, of scores 0 and x below -18: the sum is 1 to the last bit, and the second weight, which
// is what comes out, has the error of exp alone. 0.6 units of the last place (2^-23 relative).
TEST(AttendQueries, WeightsAreWithinOneUnit) {
  constexpr Index kRows = 20000;
  constexpr float kBinaryDigits = 1.44269504F;  // the unit that scores are taken in
  Tensor<float> q({kRows, 1});
  for (Index i = 0; i < kRows; ++i) {
    q.values[static_cast<std::size_t>(i)] = -18.0F - 69.0F * static_cast<float>(i) / kRows;
  }
  const Tensor<float> k({2, 1}, {0, 1}), v({2, 1}, {0, 1});
  const std::vector<KvRun<float>> runs{{k.matrix(), v.matrix()}};
  AttendMask<float> mask;
  mask.scale = 1;
  Tensor<float> out({kRows, 1});
  Arena arena;
  attend<float>({1, 1, 1, 1}, q.matrix(), std::span<const KvRun<float>>(runs), mask, out.matrix(),
                {}, arena);
  double worst = 0;
  for (std::size_t i = 0; i < q.values.size(); ++i) {
    const double want = std::exp2(static_cast<double>(q.values[i] * kBinaryDigits));
    worst = std::max(worst, std::abs(static_cast<double>(out.values[i]) / want - 1));
  }
  EXPECT_LE(worst, static_cast<double>(std::numeric_limits<float>::epsilon()));
  EXPECT_GT(worst, 0);
}

}  // namespace
}  // namespace attn
