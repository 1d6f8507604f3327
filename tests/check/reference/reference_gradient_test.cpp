#include "check/reference/reference_gradient.h"

#include <gtest/gtest.h>

#include <cmath>

#include "check/check_gradient.h"
#include "check/mistakes/twisted_gradient.h"
#include "check/problems.h"
#include "check/reference/fast_gradient.h"
#include "support/gradient_check.h"

namespace attn {
namespace {

Tensor<double> any_d_out(const AttentionProblem& problem, std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample, 2);
  return normal_tensor({problem.batch(), problem.heads(), problem.q_len(), problem.value_dim()},
                       rng);
}

// Two keys that score alike: P = (1/2, 1/2), dP = (v0, v1) = (1, 3), delta = 2, dS = (-1/2, 1/2).
TEST(ReferenceGradient, OfTwoEqualKeysByHand) {
  AttentionProblem problem;
  problem.q = Tensor<double>({1, 1, 1, 1}, {2});
  problem.k = Tensor<double>({1, 1, 2, 1}, {5, 5});
  problem.v = Tensor<double>({1, 1, 2, 1}, {1, 3});
  const AttentionGradient gradient =
      reference_gradient(problem, Tensor<double>({1, 1, 1, 1}, {1}), 1);
  EXPECT_EQ(gradient.d_q.values, (std::vector<double>{0}));      // 5 * (-1/2 + 1/2)
  EXPECT_EQ(gradient.d_k.values, (std::vector<double>{-1, 1}));  // 2 * dS
  EXPECT_EQ(gradient.d_v.values, (std::vector<double>{0.5, 0.5}));
}

TEST(ReferenceGradient, IsTheSlopeOfTheReferenceUnderEveryRule) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    AttentionProblem problem = any_problem(seed);
    const Index terms = problem.batch() * problem.heads() * problem.q_len() * problem.kv_len();
    if (terms * (problem.q.size() + problem.k.size() + problem.v.size()) > 500000)
      continue;  // slow
    problem.rules.fully_masked = FullyMasked::kZero;
    const Tensor<double> d_out = any_d_out(problem, seed);
    const AttentionGradient gradient = reference_gradient(problem, d_out, 1);
    const auto loss = [&] {
      const AttentionAnswer answer = reference_attention(problem, false, 1);
      double sum = 0;
      for (std::size_t n = 0; n < d_out.values.size(); ++n) {
        sum += answer.out.values[n] * d_out.values[n];
      }
      return sum;
    };
    SCOPED_TRACE(seed);
    testing::expect_gradient("q", problem.q.values, gradient.d_q.values, loss);
    testing::expect_gradient("k", problem.k.values, gradient.d_k.values, loss);
    testing::expect_gradient("v", problem.v.values, gradient.d_v.values, loss);
    testing::expect_gradient("sinks", problem.sinks, gradient.d_sinks.values, loss);
  }
}

// Hidden keys may hold anything: they are not read.
TEST(ReferenceGradient, PaddingIsNotRead) {
  AttentionProblem problem = random_problem({}, 5);
  problem.kv_lens = {3};
  const Tensor<double> d_out = any_d_out(problem, 5);
  const AttentionGradient clean = reference_gradient(problem, d_out, 1);
  for (Index n = 3 * 8; n < 5 * 8; ++n) problem.k.data()[n] = std::nan("");
  problem.v.data()[4 * 8] = std::numeric_limits<double>::infinity();
  const AttentionGradient poisoned = reference_gradient(problem, d_out, 1);
  EXPECT_EQ(poisoned.d_q.values, clean.d_q.values);
  EXPECT_EQ(poisoned.d_k.values, clean.d_k.values);
  EXPECT_EQ(poisoned.d_v.values, clean.d_v.values);
  EXPECT_EQ(clean.d_v.values[3 * 8], 0);
}

// The two share no code: both would have to be wrong in the same way.
TEST(ReferenceGradient, AgreesWithTheKernelUnderEveryRule) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const AttentionProblem problem = any_problem(seed);
    const Tensor<double> d_out = any_d_out(problem, seed);
    const AttentionGradient truth = reference_gradient(problem, d_out, 1);
    const AttentionGradient fast = fast_gradient(problem, d_out, 2);
    const GradientLimits limits = gradient_limits(problem, d_out, truth, DType::kF32, false, 1);
    const auto near = [&](const char* name, const Tensor<double>& given, const Tensor<double>& want,
                          const Limits& allowed) {
      const Check check = compare(name, given, want, allowed);
      EXPECT_NE(check.outcome, Outcome::kFail) << "seed " << seed << ": " << name << " is off by "
                                               << check.max_error << ", allowed " << check.limit;
    };
    near("dq", fast.d_q, truth.d_q, limits.d_q);
    near("dk", fast.d_k, truth.d_k, limits.d_k);
    near("dv", fast.d_v, truth.d_v, limits.d_v);
  }
}

TEST(ReferenceGradient, ThreadsChangeNoBit) {
  const AttentionProblem problem = random_problem({.batch = 2, .heads = 4}, 9);
  const Tensor<double> d_out = any_d_out(problem, 9);
  EXPECT_EQ(reference_gradient(problem, d_out, 1).d_k.values,
            reference_gradient(problem, d_out, 3).d_k.values);
}

// With right steps, the second form of the same sums gives the same.
TEST(TwistedGradient, WithoutATwistIsTheReference) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const AttentionProblem problem = any_problem(seed);
    const Tensor<double> d_out = any_d_out(problem, seed);
    const AttentionGradient truth = reference_gradient(problem, d_out, 1);
    for (const bool stored : {false, true}) {
      const BackwardView view{problem, stored};
      const AttentionGradient same = twisted_gradient(problem, d_out, view, view, {}, 1);
      // Float64 sums of some hundred terms in another order.
      EXPECT_LE(difference(same.d_q, truth.d_q).max_error, 1e-11) << seed;
      EXPECT_LE(difference(same.d_k, truth.d_k).max_error, 1e-11) << seed;
      EXPECT_LE(difference(same.d_v, truth.d_v).max_error, 1e-11) << seed;
    }
  }
}

}  // namespace
}  // namespace attn
