#include "check/layer/token_projection.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace attn {
namespace {

Tensor<double> matrix(Index rows, Index cols, std::vector<double> values) {
  return Tensor<double>({rows, cols}, std::move(values));
}

// x W^T: rows of W are the features that come out.
TEST(TokenProjection, MultipliesByHand) {
  TokenProjection tokens;
  tokens.x = matrix(2, 2, {1, 2, 3, 4});
  tokens.q_proj = matrix(2, 2, {1, 0, 1, 1});
  const Projected made = project_tokens(tokens);
  EXPECT_EQ(made.q.shape, (Shape{1, 1, 2, 2}));
  EXPECT_EQ(made.q.values, (std::vector<double>{1, 3, 3, 7}));
  EXPECT_EQ(made.k.values, tokens.x.values);
}

TEST(TokenProjection, CutsHeads) {
  TokenProjection tokens;
  tokens.x = matrix(2, 4, {1, 2, 3, 4, 5, 6, 7, 8});
  tokens.heads = 2;
  EXPECT_EQ(project_tokens(tokens).q.values, (std::vector<double>{1, 2, 5, 6, 3, 4, 7, 8}));
  EXPECT_EQ(project_tokens(tokens).k.values, tokens.x.values);
  tokens.heads = 3;
  EXPECT_THROW(project_tokens(tokens), DataError);
}

TEST(TokenProjection, TakesKeysFromTheContext) {
  TokenProjection tokens;
  tokens.x = matrix(1, 2, {1, 2});
  tokens.context = matrix(3, 2, {1, 2, 3, 4, 5, 6});
  tokens.v_proj = matrix(1, 2, {1, -1});
  const Projected made = project_tokens(tokens);
  EXPECT_EQ(made.k.shape, (Shape{1, 1, 3, 2}));
  EXPECT_EQ(made.v.values, (std::vector<double>{-1, -1, -1}));
  tokens.v_proj = matrix(1, 3, {1, 2, 3});
  EXPECT_THROW(project_tokens(tokens), DataError);
}

}  // namespace
}  // namespace attn
