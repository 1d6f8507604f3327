#include "check/reference/fast_attention.h"

#include <gtest/gtest.h>

#include "check/problems.h"
#include "check/verdict/tolerance.h"

namespace attn {
namespace {

// The two share no code: both would have to be wrong in the same way.
TEST(FastAttention, AgreesWithTheReferenceUnderEveryRule) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const AttentionProblem problem = any_problem(seed);
    const AttentionAnswer truth = reference_attention(problem, true, 1);
    const AttentionAnswer fast = fast_attention(problem, true, 1);
    LimitFinder out(truth.out, DType::kF32);
    LimitFinder weights(truth.weights, DType::kF32);
    LimitFinder scores(truth.scores, DType::kF32);
    LimitFinder lse(truth.lse, DType::kF32, 1);
    for (PlainOrder order : kPlainOrders) {
      const AttentionAnswer plain = plain_attention(problem, DType::kF32, order, false, true, 1);
      out.add(plain.out);
      weights.add(plain.weights);
      scores.add(plain.scores);
      lse.add(plain.lse);
    }
    const auto near = [&](const char* name, const Tensor<double>& given, const Tensor<double>& want,
                          const LimitFinder& finder) {
      const Check check = compare(name, given, want, finder.limits());
      const Outcome wanted = given.size() == 0 ? Outcome::kNotChecked : Outcome::kPass;
      EXPECT_EQ(check.outcome, wanted) << "seed " << seed << ": " << name << " is off by "
                                       << check.max_error << ", allowed " << check.limit;
    };
    near("out", fast.out, truth.out, out);
    near("weights", fast.weights, truth.weights, weights);
    near("scores", fast.scores, truth.scores, scores);
    near("lse", fast.lse, truth.lse, lse);
  }
}

TEST(FastAttention, ThreadsChangeNoBit) {
  const AttentionProblem problem = random_problem({.batch = 2, .q_len = 200, .kv_len = 100}, 9);
  EXPECT_EQ(fast_attention(problem, true, 1).weights.values,
            fast_attention(problem, true, 3).weights.values);
}

}  // namespace
}  // namespace attn
