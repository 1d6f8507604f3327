#include "check/verdict/tolerance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check/problems.h"

namespace attn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor<double> flat(std::vector<double> values) {
  const auto count = static_cast<Index>(values.size());
  return Tensor<double>({count}, std::move(values));
}

TEST(Difference, FindsTheFirstLargestErrorAndTheMean) {
  const Difference found = difference(flat({1, 2.5, 3, 3.5}), flat({1, 2, 3, 4}));
  EXPECT_EQ(found.max_error, 0.5);
  EXPECT_EQ(found.mean_error, 0.25);
  EXPECT_EQ(found.at, 1);
}

TEST(Difference, NanAndInfinityMustStandWhereTheTruthHasThem) {
  EXPECT_EQ(difference(flat({kNan, -kInfinity}), flat({kNan, -kInfinity})).max_error, 0);
  EXPECT_EQ(difference(flat({1, kNan}), flat({1, 2})).max_error, kInfinity);
  EXPECT_EQ(difference(flat({1, 2}), flat({1, kNan})).max_error, kInfinity);
  EXPECT_EQ(difference(flat({1, 2}), flat({1, -kInfinity})).max_error, kInfinity);
  const Difference infinite = difference(flat({1, kInfinity}), flat({1, 2}));
  EXPECT_EQ(infinite.max_error, kInfinity);
  EXPECT_EQ(infinite.at, 1);
}

TEST(Limits, AreTwiceTheHonestErrorAndAPartOfTheSize) {
  const Tensor<double> truth = flat({4, 0, -4, 0});
  LimitFinder finder(truth, DType::kF16);
  finder.add(flat({4, 0, -4, 0.5}));
  finder.add(flat({5, 0, -4, 0}));
  EXPECT_DOUBLE_EQ(finder.limits().max_error, 2 * 1.0 + 0x1p-10 * 4);
  EXPECT_DOUBLE_EQ(finder.limits().mean_error, 2 * 0.25 + 0x1p-12 * 2);
}

TEST(Limits, WhatIsNotFiniteDoesNotCount) {
  const Tensor<double> truth = flat({-kInfinity, 2, kNan});
  LimitFinder finder(truth, DType::kF16);
  finder.add(flat({-kInfinity, 3, kNan}));
  EXPECT_DOUBLE_EQ(finder.limits().max_error, 2 * 1.0 + 0x1p-10 * 2);
}

TEST(Limits, OfLogarithmsAreAtLeastThoseOfOne) {
  const Tensor<double> truth = flat({0, 0.5});
  EXPECT_DOUBLE_EQ(LimitFinder(truth, DType::kF32, 1).limits().max_error, 1e-5);
}

TEST(Limits, AnAllZeroTruthMustBeMetExactly) {
  const Tensor<double> zeros = flat({0, 0});
  LimitFinder finder(zeros, DType::kBF16);
  finder.add(zeros);
  const Limits none = finder.limits();
  EXPECT_EQ(none.max_error, 0);
  EXPECT_EQ(compare("out", zeros, zeros, none).outcome, Outcome::kPass);
  EXPECT_EQ(compare("out", flat({0, 1e-30}), zeros, none).outcome, Outcome::kFail);
}

TEST(Compare, FailsByTheMeanAloneToo) {
  const Tensor<double> truth = flat({1, 1, 1, 1});
  const Check check =
      compare("out", flat({1.1, 1.1, 1.1, 1.1}), truth, {.max_error = 0.2, .mean_error = 0.05});
  EXPECT_EQ(check.outcome, Outcome::kFail);
  EXPECT_NEAR(check.ratio(), 2, 1e-12);
}

TEST(Compare, OfNoValuesIsNoPass) {
  const Check check = compare("out", flat({}), flat({}), {1, 1});
  EXPECT_EQ(check.outcome, Outcome::kNotChecked);
  EXPECT_EQ(check.note, "no values");
}

TEST(Place, CountsRowMajor) {
  EXPECT_THAT(place_of(7, {2, 2, 3}), testing::ElementsAre(1, 0, 1));
}

TEST(PlainAttention, InFloat64IsTheReferenceToRounding) {
  AttentionProblem problem =
      random_problem({.heads = 4, .q_len = 6, .kv_len = 40, .value_dim = 3}, 11);
  problem.rules.causal = true;
  problem.rules.causal_alignment = CausalAlignment::kBottomRight;
  problem.rules.softcap = 3;
  problem.alibi_slopes = {0.5, 0.25, 0.125, 0.0625};
  problem.sinks = {1, -2, 0, 3};
  const AttentionAnswer truth = reference_attention(problem, true, 1);
  for (PlainOrder order : kPlainOrders) {
    const AttentionAnswer plain = plain_attention(problem, DType::kF64, order, false, true, 1);
    // Some hundred operations on numbers near 1, each to 1.1e-16.
    EXPECT_LT(difference(plain.out, truth.out).max_error, 1e-14);
    EXPECT_LT(difference(plain.weights, truth.weights).max_error, 1e-14);
    EXPECT_LT(difference(plain.lse, truth.lse).max_error, 1e-14);
  }
}

TEST(PlainAttention, ErrorGrowsWithTheRoundingOfTheType) {
  const AttentionProblem problem = random_problem({.q_len = 17, .kv_len = 64, .head_dim = 32}, 12);
  const AttentionAnswer truth = reference_attention(problem, false, 1);
  double last = 0;
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    const AttentionAnswer plain =
        plain_attention(problem, dtype, PlainOrder::kTiled, false, false, 1);
    const double error = difference(plain.out, truth.out).max_error;
    EXPECT_GT(error, 4 * last);  // the units are 2^-53, 2^-24, 2^-11, 2^-8
    last = error;
  }
}

// The reason for the mean and for floors by the size of out: the last 24 keys of a tile are zeros
// that count, which a usual absolute tolerance of 2e-3 * max |v| does not see.
TEST(Tolerance, SeesAZeroPaddedTileOfKeysInEveryType) {
  const AttentionProblem honest =
      random_problem({.q_len = 16, .kv_len = 1000, .head_dim = 32, .value_dim = 32}, 13);
  AttentionProblem padded = honest;
  for (Tensor<double>* tensor : {&padded.k, &padded.v}) {
    Tensor<double> longer({1, 2, 1024, 32});
    for (Index head = 0; head < 2; ++head) {
      std::copy_n(tensor->data() + head * 32000, 32000, longer.data() + head * 32768);
    }
    *tensor = std::move(longer);
  }
  const AttentionAnswer truth = reference_attention(honest, false, 2);
  const AttentionAnswer wrong = reference_attention(padded, false, 2);
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    std::vector<Tensor<double>> plain;
    for (PlainOrder order : kPlainOrders) {
      plain.push_back(plain_attention(honest, dtype, order, false, false, 2).out);
    }
    LimitFinder finder(truth.out, dtype);
    for (const Tensor<double>& out : plain) finder.add(out);
    const Limits allowed = finder.limits();
    EXPECT_EQ(compare("out", wrong.out, truth.out, allowed).outcome, Outcome::kFail);
    for (const Tensor<double>& out : plain) {
      EXPECT_LE(compare("out", out, truth.out, allowed).ratio(), 0.5);
    }
  }
}

}  // namespace
}  // namespace attn
