#pragma once

#include "check/layer/layer_case.h"
#include "check/problems.h"

namespace attn {

struct LayerShape {
  Index batch = 2, rows = 5, context_rows = 0;  // 0: self-attention
  Index dim = 8, heads = 4, kv_heads = 2, head_dim = 2;
  bool bias = true, causal = true, rope = false;
};

inline Projection random_projection(Index out, Index in, bool bias, Rng& rng) {
  Projection projection;
  projection.weight = normal_tensor({out, in}, rng);
  if (bias) projection.bias = normal_tensor({out}, rng).values;
  return projection;
}

inline LayerProblem random_layer(const LayerShape& shape, std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample, 9);
  LayerProblem problem;
  problem.x = normal_tensor({shape.batch, shape.rows, shape.dim}, rng);
  if (shape.context_rows > 0) {
    problem.context = normal_tensor({shape.batch, shape.context_rows, shape.dim}, rng);
  }
  problem.heads = shape.heads;
  problem.kv_heads = shape.kv_heads;
  const Index queries = shape.heads * shape.head_dim;
  const Index keys = shape.kv_heads * shape.head_dim;
  problem.q_proj = random_projection(queries, shape.dim, shape.bias, rng);
  problem.k_proj = random_projection(keys, shape.dim, shape.bias, rng);
  problem.v_proj = random_projection(keys, shape.dim, shape.bias, rng);
  problem.out_proj = random_projection(shape.dim, queries, shape.bias, rng);
  problem.attention.rules.causal = shape.causal && shape.context_rows == 0;
  if (shape.rope) {
    LayerRope rope;
    rope.inv_freq = rope_inverse_frequencies(rope.base, shape.head_dim);
    problem.rope = rope;
  }
  return problem;
}

}  // namespace attn
