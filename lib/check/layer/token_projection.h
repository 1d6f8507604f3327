#pragma once

#include <optional>

#include "core/tensor.h"

namespace attn {

/// Tokens and what makes queries, keys and values of them.
struct TokenProjection {
  Tensor<double> x;                       // (tokens, dim) or (batch, tokens, dim)
  std::optional<Tensor<double>> context;  // likewise: where keys and values come from instead
  std::optional<Tensor<double>> q_proj;   // (out, dim); none: the identity
  std::optional<Tensor<double>> k_proj;
  std::optional<Tensor<double>> v_proj;
  Index heads = 1;
  Index kv_heads = 1;
};

/// x W^T with the features cut into heads: (batch, heads, tokens, out / heads). `name` is what a
/// message calls W. Throws DataError where shapes do not fit.
Tensor<double> projected(const Tensor<double>& x, const std::optional<Tensor<double>>& weight,
                         Index heads, const char* name);

/// q, k and v of the tokens.
struct Projected {
  Tensor<double> q, k, v;
};
Projected project_tokens(const TokenProjection& tokens);

}  // namespace attn
