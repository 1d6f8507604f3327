#include "check/example.h"

#include <cmath>
#include <string>
#include <vector>

#include "check/reference/fast_attention.h"
#include "core/rng.h"

namespace attn {

namespace {

// Numbers that float32 holds exactly: the kernel and the reference then start from the same ones.
double normal(Rng& rng, double size) {
  return static_cast<double>(static_cast<float>(size * rng.normal()));
}

Tensor<double> projected(const Tensor<double>& x, Rng& rng) {
  const Index tokens = x.dim(0);
  const Index dim = x.dim(1);
  Tensor<double> matrix({dim, dim});
  for (double& value : matrix.values) value = normal(rng, 1 / std::sqrt(static_cast<double>(dim)));
  Tensor<double> result({1, 1, tokens, dim});
  for (Index i = 0; i < tokens; ++i) {
    for (Index c = 0; c < dim; ++c) {
      double sum = 0;
      for (Index k = 0; k < dim; ++k) sum += x.data()[i * dim + k] * matrix.data()[k * dim + c];
      result.data()[i * dim + c] = static_cast<double>(static_cast<float>(sum));
    }
  }
  return result;
}

AttentionCase recorded_by_kernel(const AttentionProblem& problem) {
  return recorded_answer(problem, fast_attention(problem, true, 1));
}

// A permutation that leaves no token in its place where there are two or more.
std::vector<Index> shifted_order(Index tokens) {
  std::vector<Index> order;
  for (Index i = 0; i < tokens; ++i) order.push_back((i + 1) % tokens);
  return order;
}

void take_checks(const Verdict& from, const std::vector<std::string>& names,
                 const std::string& prefix, Verdict& to) {
  for (const std::string& name : names) {
    for (const Check& check : from.checks) {
      if (check.name != name) continue;
      to.checks.push_back(check);
      to.checks.back().name = prefix + name;
    }
  }
}

}  // namespace

AttentionExample three_token_example() {
  AttentionExample example;
  example.x = Tensor<double>({3, 2}, {1, 0, 0, 1, 1, 1});
  example.problem.q = Tensor<double>({1, 1, 3, 2}, example.x.values);
  example.problem.k = example.problem.q;
  example.problem.v = example.problem.q;
  return example;
}

AttentionExample random_example(Index tokens, std::uint64_t seed) {
  constexpr Index kDim = 8;
  Rng rng(seed, RandomPurpose::kExample);
  AttentionExample example;
  example.x = Tensor<double>({tokens, kDim});
  for (double& value : example.x.values) value = normal(rng, 1);
  example.problem.q = projected(example.x, rng);
  example.problem.k = projected(example.x, rng);
  example.problem.v = projected(example.x, rng);
  return example;
}

ExampleRun check_example(const AttentionExample& example) {
  ExampleRun run;
  run.open = recorded_by_kernel(example.problem);
  run.open.perm = shifted_order(example.problem.q_len());
  run.open.out_perm = fast_attention(permuted(example.problem, run.open.perm), false, 1).out;
  AttentionProblem causal = example.problem;
  causal.rules.causal = true;
  run.causal = recorded_by_kernel(causal);
  const Verdict open = check_attention(run.open, {.maps = true}).verdict;
  const Verdict causal_verdict = check_attention(run.causal, {.maps = true}).verdict;
  take_checks(open, {"rows-sum-to-1", "permutation", "scores", "weights", "out", "lse"}, "",
              run.verdict);
  take_checks(causal_verdict, {"future-weights-zero"}, "", run.verdict);
  take_checks(causal_verdict, {"rows-sum-to-1", "scores", "weights", "out", "lse"}, "causal-",
              run.verdict);
  return run;
}

}  // namespace attn
