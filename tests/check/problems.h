#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "check/reference/attention_problem.h"
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

/// A problem of any kind that case files know, drawn from a seed.
inline AttentionProblem any_problem(std::uint64_t seed) {
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

/// The same keys and values in pages of a shuffled pool. The lengths are those of the problem, else
/// all keys of each sequence.
inline AttentionProblem in_pages(AttentionProblem problem, Index page_size, std::uint64_t seed) {
  Rng rng(seed, RandomPurpose::kExample, 2);
  if (problem.kv_lens.empty()) {
    problem.kv_lens.assign(static_cast<std::size_t>(problem.batch()), problem.kv_len());
  }
  KeyPages pages = scattered(problem.k, problem.v, problem.kv_lens, page_size, rng);
  problem.pages = std::make_shared<const KeyPages>(std::move(pages));
  return problem;
}

}  // namespace attn
