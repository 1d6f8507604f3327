#include "check/reference/reference_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check/problems.h"
#include "check/reference/fast_attention.h"
#include "core/error.h"

namespace attn {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

using Values = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Numbers of size 1 summed a few times in float64.
constexpr double kExact = 1e-14;

// What one query of the only head gets.
struct OneRow {
  Values scores, weights, out;
  double lse = 0;
  Index seen = 0;
};

OneRow row_of(const AttentionProblem& problem, Index i) {
  const AttentionAnswer answer = reference_attention(problem, true, 1);
  const auto part = [i](const Tensor<double>& tensor) {
    const double* row = tensor.data() + i * tensor.dim(-1);
    return Values(row, row + tensor.dim(-1));
  };
  OneRow row{part(answer.scores), part(answer.weights), part(answer.out), answer.lse.data()[i]};
  for (double score : row.scores) row.seen += score > -kInfinity ? 1 : 0;
  return row;
}

// The keys of one query, to be placed where a test wants them.
AttentionProblem one_query(std::vector<double> keys, std::vector<double> values) {
  const auto count = static_cast<Index>(keys.size());
  AttentionProblem problem;
  problem.q = Tensor<double>({1, 1, 1, 1}, {1});
  problem.k = Tensor<double>({1, 1, count, 1}, std::move(keys));
  problem.v = Tensor<double>({1, 1, count, 1}, std::move(values));
  return problem;
}

TEST(ReferenceAttention, GivesTheTutorialsNumbers) {
  const AttentionAnswer answer = reference_attention(three_tokens(), true, 1);
  const double half = 0.0005;  // three digits are printed
  EXPECT_THAT(answer.scores.values,
              Pointwise(DoubleNear(half), Values{.707, 0, .707, 0, .707, .707, .707, .707, 1.414}));
  EXPECT_THAT(
      answer.weights.values,
      Pointwise(DoubleNear(half), Values{.401, .198, .401, .198, .401, .401, .248, .248, .503}));
  EXPECT_THAT(answer.out.values,
              Pointwise(DoubleNear(half), Values{.802, .599, .599, .802, .752, .752}));
}

TEST(ReferenceAttention, OneKeyHasWeightOneAndIsItsOwnLogSumExp) {
  AttentionProblem problem = one_query({3}, {-7});
  const OneRow row = row_of(problem, 0);
  EXPECT_THAT(row.weights, ElementsAre(1.0));
  EXPECT_THAT(row.out, ElementsAre(-7.0));
  EXPECT_EQ(row.lse, 3.0);
}

TEST(ReferenceAttention, ScalesByTheHeadDimOrAsTold) {
  AttentionProblem problem = random_problem({.head_dim = 16}, 1);
  EXPECT_EQ(problem.scale(), 0.25);
  AttentionProblem told = problem;
  told.rules.scale = 0.25;
  EXPECT_EQ(reference_attention(problem, false, 1).out.values,
            reference_attention(told, false, 1).out.values);
  told.rules.scale = 0.0;  // all keys alike: the mean of the values
  const OneRow row = row_of(told, 0);
  EXPECT_THAT(row.weights, Pointwise(DoubleNear(kExact), Values{0.2, 0.2, 0.2, 0.2, 0.2}));
}

TEST(ReferenceAttention, CapsScoresBeforeTheMask) {
  AttentionProblem problem = one_query({2, -3, 50}, {1, 2, 4});
  problem.rules.softcap = 2;
  problem.mask = Tensor<double>({1, 1, 1, 3}, {1, 1, 0});
  const OneRow row = row_of(problem, 0);
  EXPECT_NEAR(row.scores[0], 2 * std::tanh(1.0), kExact);
  EXPECT_NEAR(row.scores[1], 2 * std::tanh(-1.5), kExact);
  EXPECT_EQ(row.scores[2], -kInfinity);
  EXPECT_EQ(row.weights[2], 0.0);
}

TEST(ReferenceAttention, AlignsTheCausalDiagonal) {
  struct Row {
    CausalAlignment alignment;
    Index q_len, kv_len;
    std::vector<Index> seen;
  };
  const std::vector<Row> table = {
      {CausalAlignment::kTopLeft, 3, 5, {1, 2, 3}},
      {CausalAlignment::kBottomRight, 3, 5, {3, 4, 5}},
      {CausalAlignment::kTopLeft, 4, 2, {1, 2, 2, 2}},
      {CausalAlignment::kBottomRight, 4, 2, {0, 0, 1, 2}},
  };
  for (const Row& expected : table) {
    AttentionProblem problem =
        random_problem({.q_len = expected.q_len, .kv_len = expected.kv_len}, 2);
    problem.rules.causal = true;
    problem.rules.causal_alignment = expected.alignment;
    for (Index i = 0; i < expected.q_len; ++i) {
      EXPECT_EQ(row_of(problem, i).seen, expected.seen[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(ReferenceAttention, OffsetIsNeitherCorner) {
  AttentionProblem problem = random_problem({.q_len = 2, .kv_len = 9}, 3);
  problem.rules.causal = true;
  problem.rules.causal_offset = 4;  // 5 cached keys are not yet filled beyond the 2 new ones
  EXPECT_EQ(row_of(problem, 0).seen, 5);
  EXPECT_EQ(row_of(problem, 1).seen, 6);
}

TEST(ReferenceAttention, WindowsCountFromTheQuerysOwnKey) {
  AttentionProblem problem = random_problem({.q_len = 9, .kv_len = 9}, 4);
  problem.rules.window_left = 2;
  problem.rules.window_right = 1;
  const Sight sight = sight_of(problem, 0, 4);
  EXPECT_EQ(sight.first, 2);
  EXPECT_EQ(sight.end, 6);
  problem.rules.causal = true;
  EXPECT_EQ(sight_of(problem, 0, 4).end, 5);
}

TEST(ReferenceAttention, DeadRowsGiveZeroOrNan) {
  AttentionProblem problem = three_tokens();
  problem.mask = Tensor<double>({1, 1, 3, 1}, {1, 0, 1});
  OneRow row = row_of(problem, 1);
  EXPECT_THAT(row.out, ElementsAre(0.0, 0.0));
  EXPECT_THAT(row.weights, ElementsAre(0.0, 0.0, 0.0));
  EXPECT_EQ(row.lse, -kInfinity);
  problem.rules.fully_masked = FullyMasked::kNan;
  row = row_of(problem, 1);
  EXPECT_TRUE(std::isnan(row.out[0]) && std::isnan(row.weights[2]));
  EXPECT_EQ(row.lse, -kInfinity);
  EXPECT_FALSE(std::isnan(row_of(problem, 0).out[0]));
}

TEST(ReferenceAttention, NoKeysGiveZeros) {
  const AttentionAnswer answer =
      reference_attention(random_problem({.q_len = 3, .kv_len = 0}, 5), true, 1);
  EXPECT_EQ(answer.weights.size(), 0);
  EXPECT_THAT(answer.out.values, testing::Each(0.0));
  EXPECT_THAT(answer.lse.values, testing::Each(-kInfinity));
}

TEST(ReferenceAttention, HiddenKeysAreNeverRead) {
  AttentionProblem clean = random_problem({.batch = 2, .q_len = 3, .kv_len = 6}, 6);
  clean.kv_lens = {6, 4};
  AttentionProblem poisoned = clean;
  for (Index head = 0; head < 2; ++head) {
    for (Index j = 4; j < 6; ++j) {
      const Index at = ((2 + head) * 6 + j) * 8;
      poisoned.k.values[static_cast<std::size_t>(at)] = kNan;
      poisoned.v.values[static_cast<std::size_t>(at)] = kInfinity;
    }
  }
  EXPECT_EQ(reference_attention(clean, false, 1).out.values,
            reference_attention(poisoned, false, 1).out.values);
}

TEST(ReferenceAttention, AdditiveMinusInfinityHidesAndTheRestIsAdded) {
  AttentionProblem problem = one_query({1, 1, kNan}, {10, 20, kNan});
  problem.rules.mask_type = MaskType::kAdditive;
  problem.mask = Tensor<double>({1, 1, 1, 3}, {0, std::log(3.0), -kInfinity});
  const OneRow row = row_of(problem, 0);
  EXPECT_THAT(row.weights, Pointwise(DoubleNear(kExact), Values{0.25, 0.75, 0.0}));
  EXPECT_NEAR(row.out[0], 17.5, 1e-13);
}

TEST(ReferenceAttention, AlibiPunishesDistanceOnBothSides) {
  AttentionProblem problem = three_tokens();
  problem.alibi_slopes = {0.5};
  problem.rules.scale = 0;
  EXPECT_THAT(row_of(problem, 1).scores, ElementsAre(-0.5, 0.0, -0.5));
}

TEST(ReferenceAttention, SinkTakesItsShareUnscaledAndUncapped) {
  AttentionProblem problem = one_query({0, 0}, {8, 8});
  problem.sinks = {std::log(2.0)};
  problem.rules.softcap = 0.1;
  const OneRow row = row_of(problem, 0);
  EXPECT_THAT(row.weights, Pointwise(DoubleNear(kExact), Values{0.25, 0.25}));
  EXPECT_NEAR(row.out[0], 4, kExact);
  EXPECT_NEAR(row.lse, std::log(4.0), kExact);
}

TEST(ReferenceAttention, QueryHeadsShareKeyHeadsInRuns) {
  const AttentionProblem grouped = random_problem({.heads = 6, .kv_heads = 2}, 7);
  const AttentionAnswer answer = reference_attention(grouped, false, 1);
  for (Index head = 0; head < 6; ++head) {  // each head alone, with keys 0 0 0 1 1 1
    AttentionProblem alone;
    const auto cut = [](const Tensor<double>& from, Index at) {
      const auto begin = from.values.begin() + at * 40;
      return Tensor<double>({1, 1, 5, 8}, std::vector<double>(begin, begin + 40));
    };
    alone.q = cut(grouped.q, head);
    alone.k = cut(grouped.k, head / 3);
    alone.v = cut(grouped.v, head / 3);
    EXPECT_EQ(reference_attention(alone, false, 1).out.values, cut(answer.out, head).values);
  }
}

TEST(ReferenceAttention, PackedSequencesDoNotMeet) {
  AttentionProblem packed = random_problem({.q_len = 5, .kv_len = 7}, 8);
  packed.cu_seqlens_q = {0, 2, 2, 5};  // the middle sequence asks nothing
  packed.cu_seqlens_k = {0, 3, 4, 7};
  packed.rules.causal = true;
  packed.rules.causal_alignment = CausalAlignment::kBottomRight;
  std::vector<Index> first, end;
  for (Index i = 0; i < 5; ++i) {
    first.push_back(sight_of(packed, 0, i).first);
    end.push_back(sight_of(packed, 0, i).end);
  }
  EXPECT_THAT(first, ElementsAre(0, 0, 4, 4, 4));
  EXPECT_THAT(end, ElementsAre(2, 3, 5, 6, 7));
}

TEST(ReferenceAttention, LargeScoresDoNotOverflow) {
  const OneRow row = row_of(one_query({5000, 4999}, {1, 0}), 0);
  EXPECT_NEAR(row.weights[0], 1 / (1 + std::exp(-1.0)), kExact);
  EXPECT_NEAR(row.lse, 5000 + std::log1p(std::exp(-1.0)), 1e-11);
}

TEST(ReferenceAttention, ScoresBeforeTheMaskCoverHiddenKeysButNotPadding) {
  AttentionProblem problem = three_tokens();
  problem.rules.causal = true;
  problem.rules.softcap = 1;
  problem.kv_lens = {2};
  const double r = 1 / std::sqrt(2.0);
  const Tensor<double> raw = reference_scores(problem, ScoreStage::kRaw, 1);
  EXPECT_NEAR(raw.values[3], 0, kExact);
  EXPECT_NEAR(raw.values[6], r, kExact);
  EXPECT_TRUE(std::isnan(raw.values[2]));
  const Tensor<double> capped = reference_scores(problem, ScoreStage::kSoftcapped, 1);
  EXPECT_NEAR(capped.values[6], std::tanh(r), kExact);
}

TEST(ReferenceAttention, ThreadsChangeNoBit) {
  const AttentionProblem problem = random_problem({.batch = 2, .q_len = 70, .kv_len = 33}, 9);
  EXPECT_EQ(reference_attention(problem, true, 1).weights.values,
            reference_attention(problem, true, 3).weights.values);
}

std::string complaint(const AttentionProblem& problem) {
  try {
    validate(problem);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(AttentionProblem, SaysWhatDoesNotFit) {
  EXPECT_EQ(complaint(three_tokens()), "");
  AttentionProblem problem = random_problem({.heads = 4, .kv_heads = 3}, 1);
  EXPECT_EQ(complaint(problem), "k: its heads must divide the heads of q: 3 does not divide 4");
  problem = three_tokens();
  problem.k = Tensor<double>({1, 1, 4, 2});
  EXPECT_THAT(complaint(problem), testing::StartsWith("v: want"));
  problem = three_tokens();
  problem.k = problem.v = Tensor<double>({1, 1, 3, 5});
  EXPECT_THAT(complaint(problem), testing::StartsWith("k: want (batch, kv_heads, kv_len"));
  problem = three_tokens();
  problem.q = Tensor<double>({3, 2});
  EXPECT_THAT(complaint(problem), testing::HasSubstr("4 axes"));
  problem = three_tokens();
  problem.mask = Tensor<double>({1, 1, 3, 2});
  EXPECT_THAT(complaint(problem), testing::StartsWith("mask: want"));
  problem = three_tokens();
  problem.kv_lens = {4};
  EXPECT_EQ(complaint(problem), "kv_lens: want 0 to 3 keys, got 4");
  problem = three_tokens();
  problem.cu_seqlens_q = {0, 3};
  EXPECT_THAT(complaint(problem), testing::StartsWith("cu_seqlens_q, cu_seqlens_k"));
  problem.cu_seqlens_k = {0, 2};
  EXPECT_EQ(complaint(problem), "cu_seqlens_k: want rising row numbers from 0 to 3");
  problem = three_tokens();
  problem.sinks = {0, 0};
  EXPECT_THAT(complaint(problem), testing::StartsWith("sinks: want one number"));
  problem = three_tokens();
  problem.rules.softcap = -1;
  EXPECT_THAT(complaint(problem), testing::StartsWith("softcap"));
}

// Rows and keys cut out of the whole obey the rules of the whole.
TEST(ReferenceAttention, APartGivesTheRowsOfTheWhole) {
  for (std::uint64_t seed = 300; seed < 340; ++seed) {
    const AttentionProblem whole = any_problem(seed);
    if (whole.mask) continue;
    const Index half = whole.q_len() / 2;
    AttentionProblem part = whole;
    const Index rows = whole.q_len() - half;
    part.q = Tensor<double>({whole.batch(), whole.heads(), rows, whole.head_dim()});
    for (Index head = 0; head < whole.batch() * whole.heads(); ++head) {
      std::copy_n(whole.q.data() + (head * whole.q_len() + half) * whole.head_dim(),
                  rows * whole.head_dim(), part.q.data() + head * rows * whole.head_dim());
    }
    part.cut = Cut{half, whole.q_len(), 0, whole.kv_len()};
    validate(part);
    const AttentionAnswer all = reference_attention(whole, false, 1);
    const AttentionAnswer some = reference_attention(part, false, 1);
    const AttentionAnswer fast = fast_attention(part, false, 1);
    const Index features = whole.value_dim();
    for (Index head = 0; head < whole.batch() * whole.heads(); ++head) {
      for (Index n = 0; n < rows * features; ++n) {
        const double want = all.out.data()[(head * whole.q_len() + half) * features + n];
        if (std::isnan(want)) continue;
        EXPECT_EQ(some.out.data()[head * rows * features + n], want) << "seed " << seed;
        EXPECT_NEAR(fast.out.data()[head * rows * features + n], want, 1e-4) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace attn
