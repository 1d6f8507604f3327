#include "check/head_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "check/problems.h"
#include "check/reference/reference_attention.h"

namespace attn {
namespace {

// Rows of a head are those of the whole, whatever the rules: the same sums in the same order.
TEST(HeadRows, AreThoseOfTheWhole) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const AttentionProblem problem = any_problem(seed);
    const AttentionAnswer truth = reference_attention(problem, true, 1);
    const Index head = problem.heads() - 1;
    const Index last = problem.q_len() - 1;
    const std::vector<Index> rows = {last, 0};
    const Tensor<double> chosen = chosen_weights(problem, {head}, rows, 1);
    ASSERT_EQ(chosen.shape, (Shape{problem.batch(), 1, 2, problem.kv_len()}));
    for (Index b = 0; b < problem.batch(); ++b) {
      for (std::size_t n = 0; n < 2; ++n) {
        const Index row = (b * problem.heads() + head) * problem.q_len() + rows[n];
        for (Index j = 0; j < problem.kv_len(); ++j) {
          const double want = truth.weights.data()[row * problem.kv_len() + j];
          const double given =
              chosen.data()[(b * 2 + static_cast<Index>(n)) * problem.kv_len() + j];
          if (std::isnan(want)) {
            EXPECT_TRUE(std::isnan(given));
          } else {
            EXPECT_NEAR(given, want, 1e-12) << seed;
          }
        }
      }
    }
  }
}

TEST(HeadSteps, OfTheThreeTokens) {
  AttentionProblem problem = three_tokens();
  problem.rules.causal = true;
  const HeadSteps steps = head_steps(problem, 0, 0, 1, 2, 1);
  EXPECT_EQ(steps.products.values, (std::vector<double>{0, 1, 1, 1, 1, 2}));
  EXPECT_DOUBLE_EQ(steps.scaled.values[5], 2 / std::sqrt(2.0));
  EXPECT_EQ(steps.capped.rank(), 0);
  EXPECT_EQ(steps.masked.values[2], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(steps.weights.values[2], 0);
  // weights 1 : e^0.7071, then the tutorial's last row 0.248 0.248 0.503
  EXPECT_NEAR(steps.weights.values[0], 1 / (1 + std::exp(1 / std::sqrt(2.0))), 1e-12);
  EXPECT_NEAR(steps.weights.values[5], 0.503, 5e-4);
  EXPECT_NEAR(steps.out.values[2], 0.752, 5e-4);
  EXPECT_NEAR(steps.entropy[1], -2 * 0.2483 * std::log(0.2483) - 0.5035 * std::log(0.5035), 1e-3);
}

TEST(HeadSteps, CapScores) {
  AttentionProblem problem = three_tokens();
  problem.rules.softcap = 1;
  const HeadSteps steps = head_steps(problem, 0, 0, 0, 3, 1);
  EXPECT_NEAR(steps.capped.values[8], std::tanh(std::sqrt(2.0)), 1e-12);
}

}  // namespace
}  // namespace attn
