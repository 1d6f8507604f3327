#include "check/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attn {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

using Values = std::vector<double>;

TEST(Example, TheKernelGivesTheTutorialsNumbersAndObeysItsLaws) {
  const ExampleRun run = check_example(three_token_example());
  const double half = 0.0005;  // three digits are printed
  EXPECT_THAT(
      run.open.weights->values,
      Pointwise(DoubleNear(half), Values{.401, .198, .401, .198, .401, .401, .248, .248, .503}));
  EXPECT_THAT(run.open.out->values,
              Pointwise(DoubleNear(half), Values{.802, .599, .599, .802, .752, .752}));
  EXPECT_EQ(run.verdict.outcome(), Outcome::kPass);
  EXPECT_EQ(run.verdict.checks.size(), 12U);
  EXPECT_EQ(run.verdict.checks[0].name, "rows-sum-to-1");
  EXPECT_EQ(run.verdict.checks[1].name, "permutation");
  for (const Check& check : run.verdict.checks) EXPECT_EQ(check.outcome, Outcome::kPass);
}

TEST(Example, RandomTokensDependOnTheSeedAlone) {
  EXPECT_EQ(random_example(6, 1).problem.v.values, random_example(6, 1).problem.v.values);
  EXPECT_NE(random_example(6, 1).problem.v.values, random_example(6, 2).problem.v.values);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(check_example(random_example(6, seed)).verdict.outcome(), Outcome::kPass);
  }
}

}  // namespace
}  // namespace attn
