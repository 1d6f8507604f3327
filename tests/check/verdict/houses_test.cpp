#include "check/verdict/houses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check/house_report.h"
#include "check/problems.h"

namespace attn {
namespace {

TEST(Houses, HaveNames) {
  for (const HouseRule& rule : all_houses()) {
    const auto again = parse_house(house_name(rule));
    ASSERT_TRUE(again) << house_name(rule);
    EXPECT_EQ(again->house, rule.house);
  }
  EXPECT_EQ(house_name(*parse_house("pcc=0.999")), "pcc=0.999");
  EXPECT_EQ(house_name(*parse_house("pcc")), "pcc=0.99");
  for (const char* word : {"", "pcc=", "pcc=0", "pcc=1.5", "pcc=0.9x", "torch"}) {
    EXPECT_FALSE(parse_house(word)) << word;
  }
}

// One query and one key, so that the truth is the value: 1, 2, 4 and 8.
struct OneValue {
  explicit OneValue(DType dtype) {
    problem.q = Tensor<double>({1, 1, 1, 1}, {1});
    problem.k = problem.q;
    problem.v = Tensor<double>({1, 1, 1, 4}, {1, 2, 4, 8});
    problem.rules.dtype = dtype;
    truth = reference_attention(problem, false, 1);
  }
  HouseDecision decide(const char* house, Index at, double error) const {
    Tensor<double> given = truth.out;
    given.values[static_cast<std::size_t>(at)] += error;
    const HouseJury jury(problem, truth, &AttentionAnswer::out, own_limits(problem, truth, 1), 1);
    return jury.decide(*parse_house(house), given);
  }
  // The least error of the 8 that a house fails, and the greatest that it passes, by its rule.
  void expect_limit(const char* house, double limit) const {
    EXPECT_TRUE(decide(house, 3, 0.999 * limit).pass) << house;
    const HouseDecision beyond = decide(house, 3, 1.001 * limit);
    EXPECT_FALSE(beyond.pass) << house;
    EXPECT_NEAR(beyond.limit, limit, 1e-9) << house;
  }
  AttentionProblem problem;
  AttentionAnswer truth;
};

// The plain algorithm has no error here: what is left is each house's own figure for 8.
TEST(Houses, HaveTheLimitsOfTheirTypes) {
  const OneValue f32(DType::kF32);
  f32.expect_limit("flash", 1e-5);
  f32.expect_limit("pytorch", 4 * 1e-5 + 4 * 1.3e-6 * 8);
  f32.expect_limit("xformers", 3e-4 + 2e-5 * 8);
  f32.expect_limit("onnx", 1e-7 + 1e-3 * 8);
  f32.expect_limit("cudnn", 2e-2 + 2e-2 * 8);
  f32.expect_limit("mlx", 1e-5 + 1e-5 * 8);
  // ours: one element of four at 3.75e-5 is a mean of 1e-5 / 4 * 15 / 4
  EXPECT_TRUE(f32.decide("ours", 3, 3.74e-5).pass);
  EXPECT_FALSE(f32.decide("ours", 3, 3.76e-5).pass);
  EXPECT_EQ(f32.decide("ours", 3, 3.76e-5).measure, "mean error");
  EXPECT_EQ(f32.decide("ours", 3, 9e-5).measure, "max error");
  const OneValue f16(DType::kF16);
  f16.expect_limit("pytorch", 4 * 1e-3 + 4 * 1e-3 * 8);
  f16.expect_limit("xformers", 4e-3 + 4e-4 * 8);
  f16.expect_limit("mlx", 3e-4 + 3e-4 * 8);
  const OneValue bf16(DType::kBF16);
  bf16.expect_limit("pytorch", 4 * 1e-3 + 4 * 1.6e-2 * 8);
  bf16.expect_limit("xformers", 2e-2 + 5e-3 * 8);
  bf16.expect_limit("mlx", 5e-3 + 5e-3 * 8);
  // ggml: error^2 / (1 + 4 + 16 + 64) <= 5e-4
  EXPECT_TRUE(f32.decide("ggml", 0, std::sqrt(85 * 4.99e-4)).pass);
  EXPECT_FALSE(f32.decide("ggml", 0, std::sqrt(85 * 5.01e-4)).pass);
}

// The element that uses most of its own limit decides, not the largest error.
TEST(Houses, NameThePlace) {
  EXPECT_EQ(OneValue(DType::kF32).decide("onnx", 0, 1e-2).at, 0);
  EXPECT_EQ(OneValue(DType::kF32).decide("onnx", 2, 1e-2).at, 2);
}

TEST(Houses, FailWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const HouseRule& rule : all_houses()) {
    EXPECT_FALSE(OneValue(DType::kF32).decide(house_name(rule).c_str(), 1, nan).pass)
        << house_name(rule);
  }
}

// FlashAttention allows twice what a plain implementation in the type is off by.
TEST(Houses, MeasurePlainArithmetic) {
  AttentionProblem problem = random_problem({1, 2, 2, 40, 40, 32, 32}, 3);
  problem.rules.dtype = DType::kBF16;
  const AttentionAnswer truth = reference_attention(problem, false, 1);
  const HouseJury jury(problem, truth, &AttentionAnswer::out, own_limits(problem, truth, 1), 1);
  const double limit = jury.decide(*parse_house("flash"), truth.out).limit;
  // bf16 keeps 8 bits: scores of size 1 to 4 are off by up to 2^-7, out by some 2^-8 of itself.
  EXPECT_GT(limit, 2e-3);
  EXPECT_LT(limit, 1e-1);
}

TEST(HouseReport, SaysWhoDisagrees) {
  std::vector<HouseDecision> decisions(3);
  decisions[0].house = {House::kOurs, 0.99};
  decisions[1].house = {House::kGgml, 0.99};
  decisions[2].house = {House::kPcc, 0.99};
  EXPECT_EQ(house_remark(decisions, {House::kOurs, 0.99}), "all houses fail this");
  decisions[1].pass = decisions[2].pass = true;
  EXPECT_EQ(house_remark(decisions, {House::kOurs, 0.99}), "ggml and pcc=0.99 would pass this");
  EXPECT_EQ(house_remark(decisions, {House::kGgml, 0.99}), "ours would fail this");
}

TEST(HouseReport, LetsTheChosenHouseDecide) {
  AttentionCase recorded;
  recorded.problem = random_problem({1, 2, 2, 5, 5, 8, 8}, 1);
  recorded.out = reference_attention(recorded.problem, false, 1).out;
  recorded.out->values[7] += 1e-3;
  AttentionReport report = check_attention(recorded, {});
  EXPECT_EQ(report.verdict.outcome(), Outcome::kFail);
  const auto houses = ask_houses(recorded, report, {House::kGgml, 0.99}, 1);
  ASSERT_TRUE(houses);
  EXPECT_EQ(houses->tensor, "out");
  EXPECT_THAT(houses->remark, ::testing::HasSubstr("ours"));
  decide_as(*houses, report.verdict);
  EXPECT_EQ(report.verdict.outcome(), Outcome::kPass);
}

TEST(HouseReport, NeedsSomethingToJudge) {
  AttentionCase recorded;
  recorded.problem = three_tokens();
  EXPECT_FALSE(ask_houses(recorded, check_attention(recorded, {}), {}, 1));
}

}  // namespace
}  // namespace attn
