#include "check/reference/fast_gradient.h"

#include <vector>

#include "check/reference/kernel_inputs.h"
#include "core/parallel.h"

namespace attn {

namespace {

// Rows of one span, (rows, heads * features), added to (heads, all_rows, features) from `first` on.
void add_rows(In<float> from, Index heads, Index features, Index all_rows, Index first,
              double* to) {
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < from.rows(); ++i) {
      double* row = to + (h * all_rows + first + i) * features;
      for (Index c = 0; c < features; ++c) {
        row[c] += static_cast<double>(from(i, h * features + c));
      }
    }
  }
}

void span_gradient(const KernelSequence& sequence, const KernelSpan& span, In<float> d_out,
                   AttentionGradient& gradient) {
  const AttentionProblem& problem = sequence.problem();
  const HeadShape& shape = sequence.shape();
  const Index b = sequence.b();
  const KvRun<float> run = {sequence.k(span), sequence.v(span)};
  Arena arena;
  const Matrix<float> out = arena.matrix<float>(span.queries, shape.heads * shape.value_dim);
  float* lse = arena.allocate<float>(shape.heads * span.queries);
  AttendProbe<float> probe;
  probe.lse = lse;
  attend<float>(shape, sequence.q(span), {&run, 1}, sequence.mask(span), out, probe, arena);
  const Matrix<float> d_q = arena.zeros<float>(span.queries, shape.heads * shape.head_dim);
  const Matrix<float> d_k = arena.zeros<float>(span.keys, shape.kv_heads * shape.head_dim);
  const Matrix<float> d_v = arena.zeros<float>(span.keys, shape.kv_heads * shape.value_dim);
  attend_backward<float>(shape, sequence.q(span), run.k, run.v, sequence.mask(span), out, lse,
                         d_out.row_block(span.first_query, span.queries), d_q, d_k, d_v, arena);
  // The kernel was given queries of 0 in place of a scale of 0.
  const bool scaled = problem.scale() != 0;
  if (scaled) {
    add_rows(d_q, shape.heads, shape.head_dim, problem.q_len(), span.first_query,
             gradient.d_q.data() + b * shape.heads * problem.q_len() * shape.head_dim);
  }
  add_rows(d_k, shape.kv_heads, shape.head_dim, problem.kv_len(), span.first_key,
           gradient.d_k.data() + b * shape.kv_heads * problem.kv_len() * shape.head_dim);
  add_rows(d_v, shape.kv_heads, shape.value_dim, problem.kv_len(), span.first_key,
           gradient.d_v.data() + b * shape.kv_heads * problem.kv_len() * shape.value_dim);
}

}  // namespace

AttentionGradient fast_gradient(const AttentionProblem& problem, const Tensor<double>& d_out,
                                int threads) {
  AttentionGradient gradient = no_gradient(problem);
  parallel_for(problem.batch(), threads, [&](Index b, int) {
    const KernelSequence sequence(problem, b);
    const Index columns = problem.heads() * problem.value_dim();
    const std::vector<float> rows =
        side_by_side(d_out.data() + b * problem.q_len() * columns, problem.heads(), problem.q_len(),
                     problem.value_dim());
    for (const KernelSpan& span : kernel_spans(problem, b)) {
      span_gradient(sequence, span, {rows.data(), problem.q_len(), columns}, gradient);
    }
  });
  return gradient;
}

}  // namespace attn
