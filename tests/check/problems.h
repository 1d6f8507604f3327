#pragma once

#include <utility>

#include "check/attention_problem.h"
#include "core/rng.h"

namespace attn {

/// The tutorial's three tokens (1, 0), (0, 1), (1, 1) as queries, keys and values.
inline AttentionProblem three_tokens() {
  AttentionProblem problem;
  problem.q = Tensor<double>({1, 1, 3, 2}, {1, 0, 0, 1, 1, 1});
  problem.k = problem.q;
  problem.v = problem.q;
  return problem;
}

/// Standard normal numbers that float32 holds exactly, as a dump in float32 would.
inline Tensor<double> normal_tensor(Shape shape, Rng& rng) {
  Tensor<double> tensor(std::move(shape));
  for (double& value : tensor.values) value = static_cast<double>(static_cast<float>(rng.normal()));
  return tensor;
}

struct ProblemShape {
  Index batch = 1;
  Index heads = 2;
  Index kv_heads = 2;
  Index q_len = 5;
  Index kv_len = 5;
  Index head_dim = 8;
  Index value_dim = 8;
};

inline AttentionProblem random_problem(const ProblemShape& shape, std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample);
  AttentionProblem problem;
  problem.q = normal_tensor({shape.batch, shape.heads, shape.q_len, shape.head_dim}, rng);
  problem.k = normal_tensor({shape.batch, shape.kv_heads, shape.kv_len, shape.head_dim}, rng);
  problem.v = normal_tensor({shape.batch, shape.kv_heads, shape.kv_len, shape.value_dim}, rng);
  return problem;
}

}  // namespace attn
