#include "check/power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "check/mistakes/suppositions.h"
#include "check/power_advice.h"
#include "check/problems.h"
#include "core/error.h"

namespace attn {
namespace {

using ::testing::HasSubstr;

MistakePower of(const AttentionProblem& problem, const char* name, const char* house = "ours") {
  for (MistakePower& one : test_power(problem, *parse_house(house), 1)) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "nothing is said of " << name;
  return {};
}

AttentionProblem causal(Index queries, Index keys) {
  AttentionProblem problem = random_problem({1, 4, 2, queries, keys, 16, 16}, 1);
  problem.rules.causal = true;
  return problem;
}

TEST(Power, SquareCasesAreBlindToTheCorner) {
  const MistakePower square = of(causal(6, 6), "causal-alignment");
  EXPECT_EQ(square.notice, Notice::kUnnoticed);
  EXPECT_THAT(square.advice, HasSubstr("n = m"));
  EXPECT_EQ(of(causal(6, 9), "causal-alignment").notice, Notice::kNoticed);
  EXPECT_EQ(of(causal(6, 6), "causal-missing").notice, Notice::kNoticed);
}

TEST(Power, OneKeyValueHeadHidesTheGroups) {
  const AttentionProblem one = random_problem({1, 4, 1, 5, 5, 16, 16}, 1);
  EXPECT_EQ(of(one, "gqa-first-head").notice, Notice::kUnnoticed);
  EXPECT_THAT(of(one, "gqa-first-head").advice, HasSubstr("one key-value head"));
  EXPECT_EQ(of(one, "gqa-tiled").notice, Notice::kNotApplicable);
  EXPECT_EQ(of(causal(5, 5), "gqa-tiled").notice, Notice::kNoticed);
}

TEST(Power, WholeTilesHaveNoTail) {
  const MistakePower whole = of(causal(4, 128), "tail-tile");
  EXPECT_EQ(whole.notice, Notice::kUnnoticed);
  EXPECT_THAT(whole.advice, HasSubstr("whole tiles"));
  const MistakePower some = of(causal(4, 24), "tail-tile");
  EXPECT_EQ(some.notice, Notice::kPartly);
  EXPECT_THAT(some.advice, HasSubstr("24 keys are whole tiles of 4, 8"));
  AttentionProblem open = random_problem({1, 2, 2, 4, 257, 16, 16}, 1);
  EXPECT_EQ(of(open, "tail-tile").notice, Notice::kNoticed);
}

TEST(Power, SmallScoresHideTheScale) {
  AttentionProblem small = random_problem({1, 2, 2, 6, 6, 16, 16}, 1);
  for (double& value : small.q.values) value *= 1e-3;
  const MistakePower mlx = of(small, "missing-scale", "cudnn");
  EXPECT_EQ(mlx.notice, Notice::kUnnoticed);
  EXPECT_THAT(mlx.advice, HasSubstr("--tolerance ours would notice"));
  EXPECT_THAT(mlx.advice, HasSubstr("multiply q by"));
  EXPECT_EQ(of(random_problem({1, 2, 2, 6, 6, 16, 16}, 1), "missing-scale", "cudnn").notice,
            Notice::kNoticed);
}

// Many keys of random values: the output is near 0, and so is a kernel's that writes nothing.
TEST(Power, ConstantOutputsPassWideTolerances) {
  AttentionProblem flat = random_problem({1, 1, 1, 4, 200, 8, 8}, 1);
  for (double& value : flat.v.values) value *= 0.05;
  EXPECT_EQ(of(flat, "constant-output", "cudnn").notice, Notice::kUnnoticed);
  EXPECT_EQ(of(flat, "constant-output", "ggml").notice, Notice::kNoticed);
}

TEST(Power, SaysWhatIsMissing) {
  const AttentionProblem plain = random_problem({1, 1, 1, 4, 5, 8, 8}, 1);
  for (const char* name : {"mask-ignored", "window-ignored", "causal-missing", "sink-ignored",
                           "alibi-sign", "padding-ignored", "batch-reuse", "head-layout"}) {
    const MistakePower one = of(plain, name);
    EXPECT_EQ(one.notice, Notice::kNotApplicable) << name;
    EXPECT_FALSE(one.advice.empty()) << name;
  }
  EXPECT_THAT(of(plain, "mask-ignored").advice, HasSubstr("add a mask"));
}

// The number that an advice names is enough.
TEST(Power, AdviceSuffices) {
  const auto number_after = [](const std::string& advice, const std::string& words) {
    EXPECT_THAT(advice, HasSubstr(words));
    return std::stod(advice.substr(advice.find(words) + words.size()));
  };
  AttentionProblem problem = random_problem({1, 2, 2, 6, 9, 16, 16}, 1);
  problem.rules.softcap = 1000;
  problem.rules.softcap =
      number_after(of(problem, "softcap-missing", "mlx").advice, "test with a cap of ");
  EXPECT_EQ(of(problem, "softcap-missing", "mlx").notice, Notice::kNoticed);

  AttentionProblem overflow = random_problem({1, 2, 2, 6, 9, 16, 16}, 1);
  const double factor = number_after(of(overflow, "fp16-overflow", "ggml").advice,
                                     "multiply q and k of one head by ");
  for (std::size_t n = 0; n < 6 * 16; ++n) overflow.q.values[n] *= factor;
  for (std::size_t n = 0; n < 9 * 16; ++n) overflow.k.values[n] *= factor;
  EXPECT_EQ(of(overflow, "fp16-overflow", "ggml").notice, Notice::kNoticed);

  AttentionProblem large = random_problem({1, 2, 2, 6, 9, 16, 16}, 1);
  const double more =
      number_after(of(large, "no-max-subtraction").advice, "multiply q of one head by ");
  for (std::size_t n = 0; n < 6 * 16; ++n) large.q.values[n] *= more;
  EXPECT_EQ(of(large, "no-max-subtraction").notice, Notice::kNoticed);

  AttentionProblem small = random_problem({1, 2, 2, 6, 6, 16, 16}, 1);
  for (double& value : small.q.values) value *= 1e-3;
  const double up = number_after(of(small, "missing-scale", "cudnn").advice, "multiply q by ");
  for (double& value : small.q.values) value *= up;
  EXPECT_EQ(of(small, "missing-scale", "cudnn").notice, Notice::kNoticed);
}

TEST(Power, KnowsTheTilesOfItsKeys) {
  EXPECT_EQ(blind_tiles(24, false), "4, 8");
  EXPECT_EQ(blind_tiles(24, true), "32, 64, 128");
  EXPECT_EQ(blind_tiles(257, false), "");
  EXPECT_EQ(blind_tiles(257, true), "");
}

TEST(Power, ReadsNoMoreThanItCan) {
  const AttentionProblem large = random_problem({1, 1, 1, 5000, 5000, 1, 1}, 1);
  EXPECT_THROW(test_power(large, {}, 1), DataError);
}

// Following all advice leads somewhere: a test that misses nothing.
TEST(Power, CanBeComplete) {
  AttentionProblem problem = random_problem({2, 4, 2, 5, 257, 12, 8}, 1);
  problem.rules.causal = true;
  problem.rules.causal_alignment = CausalAlignment::kBottomRight;
  problem.rules.window_left = 40;
  // The first key-value head, which two query heads read, overflows float16.
  for (double* tensor : {problem.q.data(), problem.k.data()}) {
    const Index count = tensor == problem.q.data() ? 5 * 12 : 257 * 12;
    for (Index n = 0; n < count; ++n) tensor[n] *= 200;
  }
  for (const MistakePower& one : test_power(problem, {}, 2)) {
    if (one.notice == Notice::kNotApplicable) continue;
    EXPECT_EQ(one.notice, Notice::kNoticed) << one.name << ": " << one.advice;
  }
}

// What can be supposed of some problem and not of this one lacks something, which is said.
TEST(Power, KnowsWhatEachMistakeNeeds) {
  const std::set<std::string> always = {"no-max-subtraction", "fully-masked-zero",
                                        "constant-output", "causal-undeclared",
                                        "window-undeclared"};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const Supposition& one : suppositions(any_problem(seed))) {
      if (always.count(one.name) != 0) continue;
      EXPECT_FALSE(missing_for(one.name, three_tokens()).empty()) << one.name;
    }
  }
}

// Each advice is for a name that exists, and what cannot apply says what it lacks.
TEST(Power, CoversEveryKindOfProblem) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    for (const MistakePower& one : test_power(any_problem(seed), {}, 2)) {
      EXPECT_EQ(one.advice.empty(), one.notice == Notice::kNoticed) << seed << ": " << one.name;
      EXPECT_LE(one.noticed, one.forms) << one.name;
    }
  }
}

}  // namespace
}  // namespace attn
