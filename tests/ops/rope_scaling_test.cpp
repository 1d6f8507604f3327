#include "ops/rope_scaling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/ops_test_support.h"
#include "ops/positions.h"

namespace attn {
namespace {

// The values were made by an independent program in NumPy's double precision; its 15 digits are
// what is compared.
void expect_frequencies(const RopeFrequencies& got, const std::vector<double>& want,
                        double attention_factor) {
  ASSERT_EQ(got.inv_freq.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got.inv_freq[i] / want[i], 1, 1e-13) << i;
  }
  EXPECT_NEAR(got.attention_factor, attention_factor, 1e-13);
}

TEST(RopeScaling, LinearDividesAll) {
  const RopeScaling s{.kind = RopeScalingKind::kLinear, .factor = 4};
  expect_frequencies(rope_frequencies(8, 10000, s, 0), {0.25, 0.025, 0.0025, 0.00025}, 1);
}

TEST(RopeScaling, NtkKeepsTheFastestAndDividesTheSlowest) {
  const RopeScaling s{.kind = RopeScalingKind::kNtk, .factor = 4};
  expect_frequencies(rope_frequencies(8, 10000, s, 0),
                     {1, 0.0629960524947437, 0.0039685026299205, 0.00025}, 1);
  // A single pair is the fastest and the slowest: it stays.
  expect_frequencies(rope_frequencies(2, 10000, s, 0), {1}, 1);
}

TEST(RopeScaling, DynamicGrowsWithTheLength) {
  const RopeScaling s{
      .kind = RopeScalingKind::kDynamic, .factor = 2, .original_max_positions = 512};
  expect_frequencies(rope_frequencies(8, 10000, s, 1536),
                     {1, 0.0584803547642573, 0.00341995189335339, 0.0002}, 1);
  for (const Index seq_len : {0, 100, 512}) {
    EXPECT_EQ(rope_frequencies(8, 10000, s, seq_len).inv_freq,
              rope_frequencies(8, 10000, {}, 0).inv_freq)
        << "within the trained length nothing is stretched";
  }
}

TEST(RopeScaling, Yarn) {
  RopeScaling s{.kind = RopeScalingKind::kYarn, .factor = 4, .original_max_positions = 2048};
  expect_frequencies(rope_frequencies(16, 10000, s, 0),
                     {1, 0.316227766016838, 0.1, 0.0256935059888681, 0.00625, 0.00138349647632367,
                      0.00025, 7.90569415042095e-05},
                     1.13862943611199);
  s.truncate = false;
  s.mscale = 1;
  s.mscale_all_dim = 0.5;
  s.beta_fast = 16;
  s.beta_slow = 2;
  expect_frequencies(rope_frequencies(16, 10000, s, 0),
                     {1, 0.316227766016838, 0.1, 0.0266074969521923, 0.00426161920188239,
                      0.000790569415042095, 0.00025, 7.90569415042095e-05},
                     1.06482162536957);
  s.attention_factor = 1.5;
  EXPECT_EQ(rope_frequencies(16, 10000, s, 0).attention_factor, 1.5) << "a given one wins";
}

TEST(RopeScaling, Llama3) {
  const RopeScaling s{
      .kind = RopeScalingKind::kLlama3, .factor = 8, .original_max_positions = 8192};
  expect_frequencies(
      rope_frequencies(16, 500000, s, 0),
      {1, 0.193922744748686, 0.0376060309308639, 0.00729266473721711, 0.000524846160992955,
       3.42810219595259e-05, 6.64786987118124e-06, 1.28917317215156e-06},
      1);
}

// theta 100 and 4 features: 1 and 0.1 by hand; sqrt(1 + ln 4 / ln 16) = sqrt(1.5).
TEST(RopeScaling, LongropeHasFactorsForEitherLength) {
  RopeScaling s{.kind = RopeScalingKind::kLongrope, .factor = 4, .original_max_positions = 16};
  s.short_factor = {1, 2};
  s.long_factor = {2, 5};
  expect_frequencies(rope_frequencies(4, 100, s, 16), {1, 0.05}, std::sqrt(1.5));
  expect_frequencies(rope_frequencies(4, 100, s, 17), {0.5, 0.02}, std::sqrt(1.5));
}

TEST(RopeScaling, RefusesWhatGivesNoFrequencies) {
  EXPECT_THROW(rope_frequencies(5, 10000, {}, 0), ShapeError);
  EXPECT_THROW(rope_frequencies(4, 0, {}, 0), ShapeError);
  EXPECT_EQ(rope_scaling_fault(4, 100, {}), std::nullopt);
  EXPECT_EQ(*rope_scaling_fault(4, 100, {.kind = RopeScalingKind::kLinear, .factor = 0}),
            "linear needs a factor above 0");
  EXPECT_EQ(*rope_scaling_fault(4, 100, {.kind = RopeScalingKind::kYarn, .factor = 2}),
            "yarn needs original_max_position_embeddings");
  EXPECT_EQ(*rope_scaling_fault(8, 100, {.kind = RopeScalingKind::kLongrope}),
            "longrope needs original_max_position_embeddings");
  EXPECT_EQ(*rope_scaling_fault(8, 100,
                                {.kind = RopeScalingKind::kLongrope, .original_max_positions = 4}),
            "longrope needs a long_factor for each of the 4 pairs, got 0");
}

TEST(RopeScaling, NamesAndKindsAreOneList) {
  for (const char* name : {"none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope"}) {
    ASSERT_TRUE(rope_scaling_kind(name)) << name;
    EXPECT_EQ(rope_scaling_name(*rope_scaling_kind(name)), name);
  }
  EXPECT_FALSE(rope_scaling_kind("Yarn"));
}

// Two of a head's six features stay; the factor lengthens the turned ones.
TEST(RopeScaling, PartOfAHeadTurnsByScaledAngles) {
  const RopeTable<double> table(RopeFrequencies{{1, 0.5}, 3}, 0, 4);
  Tensor<double> x({1, 12}, {1, 1, 0, 0, 8, 9, 0, 0, 1, 1, 6, 7});
  rope_rotate(table, RopePairs::kHalves, 6, 2, x.matrix());
  const std::vector<double> want{
      3 * std::cos(2.0),  3 * std::cos(1.0),  3 * std::sin(2.0), 3 * std::sin(1.0), 8, 9,
      -3 * std::sin(2.0), -3 * std::sin(1.0), 3 * std::cos(2.0), 3 * std::cos(1.0), 6, 7};
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(x.values[i], want[i], 1e-15) << i;
}

// <R x, y> = <x, R^T y>, with an attention factor too: what a gradient needs.
TEST(RopeScaling, BackIsTheTranspose) {
  const RopeTable<double> table(RopeFrequencies{{1, 0.3}, 1.25}, 0, 8);
  for (const RopePairs pairs : {RopePairs::kInterleaved, RopePairs::kHalves}) {
    const auto x = random_tensor<double>({2, 10}, 1), y = random_tensor<double>({2, 10}, 2);
    auto turned = x, back = y;
    rope_rotate(table, pairs, 5, 3, turned.matrix());
    rope_rotate_back(table, pairs, 5, 3, back.matrix());
    EXPECT_NEAR(inner(turned.values, y.values), inner(x.values, back.values), 1e-13);
  }
}

}  // namespace
}  // namespace attn
