#include "check/cases/attention_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace attn {

namespace {

// Rows of (batch, heads, rows, features) in another order.
Tensor<double> rows_in_order(const Tensor<double>& from, const std::vector<Index>& order) {
  Tensor<double> to(from.shape);
  const Index rows = from.dim(2);
  const Index features = from.dim(3);
  for (Index head = 0; head < from.dim(0) * from.dim(1); ++head) {
    for (Index i = 0; i < rows; ++i) {
      const Index source = order[static_cast<std::size_t>(i)];
      std::copy_n(from.data() + (head * rows + source) * features, features,
                  to.data() + (head * rows + i) * features);
    }
  }
  return to;
}

void require_tensor(const char* name, const std::optional<Tensor<double>>& tensor,
                    const Shape& want, const char* axes) {
  if (!tensor || tensor->shape == want) return;
  throw DataError(fmt::format("{}: want {} = {}, got {}", name, axes, shape_text(want),
                              shape_text(tensor->shape)));
}

void validate_permutation(const AttentionCase& recorded) {
  if (recorded.perm.empty()) return;
  std::vector<Index> sorted = recorded.perm;
  std::sort(sorted.begin(), sorted.end());
  bool whole = static_cast<Index>(sorted.size()) == recorded.problem.q_len();
  for (std::size_t n = 0; whole && n < sorted.size(); ++n)
    whole = sorted[n] == static_cast<Index>(n);
  if (whole) return;
  throw DataError(fmt::format("perm: want each of 0 to {} once", recorded.problem.q_len() - 1));
}

void validate_gradient(const AttentionCase& recorded, const Shape& out) {
  if (!recorded.gradient) return;
  const AttentionProblem& problem = recorded.problem;
  const GradientRecord& gradient = *recorded.gradient;
  require_tensor("dout", gradient.d_out, out, "(batch, heads, q_len, value_dim)");
  require_tensor("dq", gradient.d_q, problem.q.shape, "the shape of q");
  require_tensor("dk", gradient.d_k, problem.k.shape, "the shape of k");
  require_tensor("dv", gradient.d_v, problem.v.shape, "the shape of v");
  require_tensor("dsinks", gradient.d_sinks, {static_cast<Index>(problem.sinks.size())}, "(heads)");
}

}  // namespace

AttentionCase recorded_answer(AttentionProblem problem, AttentionAnswer answer) {
  AttentionCase recorded;
  recorded.problem = std::move(problem);
  recorded.out = std::move(answer.out);
  recorded.weights = std::move(answer.weights);
  recorded.scores = std::move(answer.scores);
  recorded.lse = std::move(answer.lse);
  return recorded;
}

AttentionProblem permuted(const AttentionProblem& problem, const std::vector<Index>& perm) {
  AttentionProblem result = problem;
  result.q = rows_in_order(problem.q, perm);
  if (problem.kv_len() != problem.q_len()) return result;
  result.k = rows_in_order(problem.k, perm);
  result.v = rows_in_order(problem.v, perm);
  return result;
}

bool order_free(const AttentionProblem& problem) {
  const AttentionRules& rules = problem.rules;
  return !rules.causal && rules.window_left < 0 && rules.window_right < 0 && !problem.mask &&
         problem.kv_lens.empty() && problem.cu_seqlens_q.empty() && problem.alibi_slopes.empty();
}

void validate(const AttentionCase& recorded) {
  const AttentionProblem& problem = recorded.problem;
  validate(problem);
  const Shape out = {problem.batch(), problem.heads(), problem.q_len(), problem.value_dim()};
  const Shape map = {problem.batch(), problem.heads(), problem.q_len(), problem.kv_len()};
  const char* out_axes = "(batch, heads, q_len, value_dim)";
  const char* map_axes = "(batch, heads, q_len, kv_len)";
  require_tensor("out", recorded.out, out, out_axes);
  require_tensor("out_perm", recorded.out_perm, out, out_axes);
  require_tensor("weights", recorded.weights, map, map_axes);
  require_tensor("scores", recorded.scores, map, map_axes);
  require_tensor("lse", recorded.lse, {out[0], out[1], out[2]}, "(batch, heads, q_len)");
  validate_permutation(recorded);
  validate_gradient(recorded, out);
  if (!recorded.probe) return;
  const CausalProbe& probe = *recorded.probe;
  require_tensor("causal_probe/k", probe.k, problem.k.shape, "the shape of k");
  require_tensor("causal_probe/v", probe.v, problem.v.shape, "the shape of v");
  require_tensor("causal_probe/out", probe.out, out, out_axes);
  if (probe.first_changed_key < 0 || probe.first_changed_key > problem.kv_len()) {
    throw DataError(fmt::format("causal_probe/first_changed_key: want 0 to {}, got {}",
                                problem.kv_len(), probe.first_changed_key));
  }
}

}  // namespace attn
