#include "check/reference/fast_attention.h"

#include <algorithm>
#include <limits>

#include "check/reference/kernel_inputs.h"
#include "core/ceil_div.h"
#include "core/parallel.h"

namespace attn {

namespace {

constexpr Index kRowsPerCall = 64;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

void attend_rows(const KernelSequence& sequence, const KernelSpan& span, AttentionAnswer& answer) {
  const AttentionProblem& problem = sequence.problem();
  const HeadShape& shape = sequence.shape();
  const KvRun<float> run = {sequence.k(span), sequence.v(span)};
  Arena arena;
  const bool maps = answer.weights.rank() != 0;
  const Index map_size = maps ? shape.heads * span.queries * span.keys : 0;
  const Matrix<float> out = arena.matrix<float>(span.queries, shape.heads * shape.value_dim);
  float* lse = arena.allocate<float>(shape.heads * span.queries);
  float* weights = arena.allocate<float>(map_size);
  float* scores = arena.allocate<float>(map_size);
  const AttendProbe<float> probe = {lse, maps ? weights : nullptr, maps ? scores : nullptr};
  attend<float>(shape, sequence.q(span), {&run, 1}, sequence.mask(span), out, probe, arena);

  for (Index h = 0; h < shape.heads; ++h) {
    for (Index i = 0; i < span.queries; ++i) {
      const Index row = (sequence.b() * shape.heads + h) * problem.q_len() + span.first_query + i;
      const Index from = h * span.queries + i;
      std::copy_n(out.row(i) + h * shape.value_dim, shape.value_dim,
                  answer.out.data() + row * shape.value_dim);
      answer.lse.data()[row] = static_cast<double>(lse[from]);
      if (!maps) continue;
      const Index to = row * problem.kv_len() + span.first_key;
      std::copy_n(weights + from * span.keys, span.keys, answer.weights.data() + to);
      std::copy_n(scores + from * span.keys, span.keys, answer.scores.data() + to);
    }
  }
}

void attend_span(const KernelSequence& sequence, const KernelSpan& span, AttentionAnswer& answer,
                 int threads) {
  const Index calls = ceil_div(span.queries, kRowsPerCall);
  parallel_for(calls, threads, [&](Index call, int) {
    KernelSpan part = span;
    part.first_query += call * kRowsPerCall;
    part.offset += call * kRowsPerCall;
    part.queries = std::min(kRowsPerCall, span.queries - call * kRowsPerCall);
    attend_rows(sequence, part, answer);
  });
}

void mark_dead_rows(const AttentionProblem& problem, AttentionAnswer& answer) {
  if (problem.rules.fully_masked != FullyMasked::kNan) return;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (Index row = 0; row < answer.lse.size(); ++row) {
    if (answer.lse.data()[row] != static_cast<double>(kHidden)) continue;
    std::fill_n(answer.out.data() + row * problem.value_dim(), problem.value_dim(), nan);
    if (answer.weights.rank() == 0) continue;
    std::fill_n(answer.weights.data() + row * problem.kv_len(), problem.kv_len(), nan);
  }
}

}  // namespace

AttentionAnswer fast_attention(const AttentionProblem& problem, bool maps, int threads) {
  const Shape rows = {problem.batch(), problem.heads(), problem.q_len()};
  AttentionAnswer answer;
  answer.out = Tensor<double>({rows[0], rows[1], rows[2], problem.value_dim()});
  answer.lse = Tensor<double>(rows);
  if (maps) {
    const Shape map = {rows[0], rows[1], rows[2], problem.kv_len()};
    answer.weights = Tensor<double>(map);
    answer.scores = Tensor<double>(map);
    std::fill(answer.scores.values.begin(), answer.scores.values.end(), kHidden);
  }
  for (Index b = 0; b < problem.batch(); ++b) {
    const KernelSequence sequence(problem, b);
    for (const KernelSpan& span : kernel_spans(problem, b)) {
      attend_span(sequence, span, answer, threads);
    }
  }
  mark_dead_rows(problem, answer);
  return answer;
}

}  // namespace attn
