#include "check/fast_attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "check/problems.h"
#include "check/tolerance.h"

namespace attn {
namespace {

// A problem of any kind that case files know, drawn from a seed: the kernel and the reference share
// no code, so both would have to be wrong in the same way.
AttentionProblem any_problem(std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample, 1);
  const auto flip = [&rng] { return rng.below(2) == 1; };
  ProblemShape shape;
  shape.batch = 1 + rng.below(2);
  shape.kv_heads = 1 + rng.below(2);
  shape.heads = shape.kv_heads * (1 + rng.below(3));
  shape.q_len = 1 + rng.below(80);  // one call of the kernel takes 64 rows
  shape.kv_len = rng.below(6) == 0 ? 0 : 1 + rng.below(150);
  shape.head_dim = 1 + rng.below(20);
  shape.value_dim = 1 + rng.below(9);
  AttentionProblem problem = random_problem(shape, seed);
  AttentionRules& rules = problem.rules;
  rules.causal = flip();
  if (flip()) rules.causal_alignment = CausalAlignment::kBottomRight;
  if (rng.below(4) == 0) rules.causal_offset = rng.below(30) - 5;
  if (rng.below(3) == 0) rules.window_left = rng.below(20);
  if (rng.below(3) == 0) rules.window_right = rng.below(20);
  if (flip()) rules.scale = rng.below(5) == 0 ? 0 : rng.uniform(0.1, 1);
  if (rng.below(3) == 0) rules.softcap = rng.uniform(0.5, 5);
  if (rng.below(4) == 0) rules.fully_masked = FullyMasked::kNan;
  if (rng.below(3) == 0) {
    for (Index h = 0; h < shape.heads; ++h) problem.alibi_slopes.push_back(rng.uniform());
  }
  if (rng.below(3) == 0) {
    for (Index h = 0; h < shape.heads; ++h) problem.sinks.push_back(3 * rng.normal());
  }
  if (flip()) {
    rules.mask_type = flip() ? MaskType::kBool : MaskType::kAdditive;
    problem.mask = Tensor<double>({flip() ? 1 : shape.batch, flip() ? 1 : shape.heads,
                                   flip() ? 1 : shape.q_len, flip() ? 1 : shape.kv_len});
    for (double& value : problem.mask->values) {
      const bool hidden = rng.below(3) == 0;
      value = rules.mask_type == MaskType::kBool ? !hidden
              : hidden                           ? -std::numeric_limits<double>::infinity()
                       : static_cast<double>(static_cast<float>(rng.normal()));
    }
  }
  if (rng.below(3) == 0) {
    for (Index b = 0; b < shape.batch; ++b) {
      problem.kv_lens.push_back(rng.below(shape.kv_len + 1));
    }
  }
  if (rng.below(3) == 0) {
    const Index middle_q = rng.below(shape.q_len + 1);
    const Index middle_k = rng.below(shape.kv_len + 1);
    problem.cu_seqlens_q = {0, middle_q, shape.q_len};
    problem.cu_seqlens_k = {0, middle_k, shape.kv_len};
  }
  validate(problem);
  return problem;
}

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
      EXPECT_EQ(check.outcome, Outcome::kPass) << "seed " << seed << ": " << name << " is off by "
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
