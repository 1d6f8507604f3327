#include "check/verdict/rules_text.h"

#include <gtest/gtest.h>

namespace attn {
namespace {

AttentionProblem problem_of_four_features() {
  AttentionProblem problem;
  problem.q = problem.k = problem.v = Tensor<double>({1, 1, 3, 4});
  return problem;
}

TEST(RulesText, PlainAttentionIsItsTypeAndScale) {
  EXPECT_EQ(rules_text(problem_of_four_features()), "f32, scale 0.5");
}

TEST(RulesText, NamesEveryRuleThatIsOn) {
  AttentionProblem problem = problem_of_four_features();
  problem.rules.dtype = DType::kBF16;
  problem.rules.scale = 2.0;
  problem.rules.causal = true;
  problem.rules.causal_alignment = CausalAlignment::kBottomRight;
  problem.rules.window_left = 3;
  problem.rules.window_right = 0;
  problem.rules.softcap = 50;
  problem.mask = Tensor<double>({1, 1, 3, 3});
  problem.kv_lens = {2};
  problem.cu_seqlens_q = {0, 1, 3};
  problem.alibi_slopes = {0.5};
  problem.sinks = {0.0};
  EXPECT_EQ(rules_text(problem),
            "bf16, scale 2, causal, bottom-right, window left 3, window right 0, softcap 50, "
            "boolean mask, kv_lens, 2 packed sequences, alibi, sinks");
}

TEST(RulesText, AnOffsetStandsInsteadOfACorner) {
  AttentionProblem problem = problem_of_four_features();
  problem.rules.causal = true;
  problem.rules.causal_alignment = CausalAlignment::kBottomRight;
  problem.rules.causal_offset = 7;
  EXPECT_EQ(rules_text(problem), "f32, scale 0.5, causal, offset 7");
}

}  // namespace
}  // namespace attn
