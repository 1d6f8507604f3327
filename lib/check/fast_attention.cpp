#include "check/fast_attention.h"

#include <algorithm>
#include <limits>

#include "core/parallel.h"
#include "ops/attend.h"

namespace attn {

namespace {

constexpr Index kRowsPerCall = 64;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

// (heads, rows, features) of one sequence as (rows, heads * features), the kernel's form.
std::vector<float> side_by_side(const double* from, Index heads, Index rows, Index features) {
  std::vector<float> to(static_cast<std::size_t>(heads * rows * features));
  for (Index h = 0; h < heads; ++h) {
    for (Index i = 0; i < rows; ++i) {
      const double* source = from + (h * rows + i) * features;
      float* target = to.data() + (i * heads + h) * features;
      for (Index c = 0; c < features; ++c) target[c] = static_cast<float>(source[c]);
    }
  }
  return to;
}

std::vector<float> as_float(const std::vector<double>& from) {
  std::vector<float> to(from.size());
  for (std::size_t n = 0; n < from.size(); ++n) to[n] = static_cast<float>(from[n]);
  return to;
}

// A run of queries and the keys they can meet: a sequence of its own, or one of several packed.
struct Span {
  Index first_query, queries, first_key, keys, offset;
};

// One sequence of the batch, laid out for the kernel.
class Sequence {
 public:
  Sequence(const AttentionProblem& problem, Index b)
      : problem_(problem),
        b_(b),
        shape_{problem.heads(), problem.kv_heads(), problem.head_dim(), problem.value_dim()},
        q_(side_by_side(problem.q_row(b, 0, 0), shape_.heads, problem.q_len(), shape_.head_dim)),
        k_(side_by_side(problem.k_row(b, 0, 0), shape_.kv_heads, problem.kv_len(),
                        shape_.head_dim)),
        v_(side_by_side(problem.v_row(b, 0, 0), shape_.kv_heads, problem.kv_len(),
                        shape_.value_dim)),
        slopes_(as_float(problem.alibi_slopes)),
        sinks_(as_float(problem.sinks)) {
    take_mask();
    // A scale of 0 asks the kernel for its default; queries of 0 give the scores that 0 means.
    if (problem.scale() == 0) std::fill(q_.begin(), q_.end(), 0.0F);
  }

  void attend_span(const Span& span, AttentionAnswer& answer, int threads) const {
    const Index calls = (span.queries + kRowsPerCall - 1) / kRowsPerCall;
    parallel_for(calls, threads, [&](Index call, int) {
      Span part = span;
      part.first_query += call * kRowsPerCall;
      part.offset += call * kRowsPerCall;
      part.queries = std::min(kRowsPerCall, span.queries - call * kRowsPerCall);
      attend_rows(part, answer);
    });
  }

 private:
  void take_mask() {
    if (!problem_.mask) return;
    const Shape& extents = problem_.mask->shape;
    const Index rows = extents[2];
    const Index columns = extents[3];
    const Index each = extents[1] * rows * columns;
    const double* from = problem_.mask->data() + (extents[0] == 1 ? 0 : b_ * each);
    head_stride_ = extents[1] == 1 ? 0 : rows * columns;
    row_stride_ = rows == 1 ? 0 : columns;
    col_stride_ = columns == 1 ? 0 : 1;
    for (Index n = 0; n < each; ++n) {
      if (problem_.rules.mask_type == MaskType::kBool) {
        allowed_.push_back(from[n] != 0 ? 1 : 0);
      } else {
        bias_.push_back(static_cast<float>(from[n]));
      }
    }
  }

  template <class T>
  ScoreGrid<T> grid(const std::vector<T>& table, const Span& span) const {
    if (table.empty()) return {};
    return {table.data() + span.first_query * row_stride_ + span.first_key * col_stride_,
            head_stride_, row_stride_, col_stride_};
  }

  AttendMask<float> mask_of(const Span& span) const {
    const AttentionRules& rules = problem_.rules;
    AttendMask<float> mask;
    mask.causal = rules.causal;
    mask.offset = span.offset;
    mask.window_left = rules.window_left;
    mask.window_right = rules.window_right;
    mask.scale = static_cast<float>(problem_.scale());
    mask.softcap = static_cast<float>(rules.softcap);
    mask.alibi_slopes = slopes_.empty() ? nullptr : slopes_.data();
    mask.sinks = sinks_.empty() ? nullptr : sinks_.data();
    mask.bias = grid(bias_, span);
    mask.allowed = grid(allowed_, span);
    return mask;
  }

  void attend_rows(const Span& span, AttentionAnswer& answer) const {
    const auto view = [](const std::vector<float>& table, Index first, Index rows, Index columns) {
      return Matrix<const float>(table.data() + first * columns, rows, columns);
    };
    const KvRun<float> run = {
        view(k_, span.first_key, span.keys, shape_.kv_heads * shape_.head_dim),
        view(v_, span.first_key, span.keys, shape_.kv_heads * shape_.value_dim)};
    Arena arena;
    const bool maps = answer.weights.rank() != 0;
    const Index map_size = maps ? shape_.heads * span.queries * span.keys : 0;
    const Matrix<float> out = arena.matrix<float>(span.queries, shape_.heads * shape_.value_dim);
    float* lse = arena.allocate<float>(shape_.heads * span.queries);
    float* weights = arena.allocate<float>(map_size);
    float* scores = arena.allocate<float>(map_size);
    const AttendProbe<float> probe = {lse, maps ? weights : nullptr, maps ? scores : nullptr};
    attend<float>(shape_, view(q_, span.first_query, span.queries, shape_.heads * shape_.head_dim),
                  {&run, 1}, mask_of(span), out, probe, arena);

    for (Index h = 0; h < shape_.heads; ++h) {
      for (Index i = 0; i < span.queries; ++i) {
        const Index row = (b_ * shape_.heads + h) * problem_.q_len() + span.first_query + i;
        const Index from = h * span.queries + i;
        std::copy_n(out.row(i) + h * shape_.value_dim, shape_.value_dim,
                    answer.out.data() + row * shape_.value_dim);
        answer.lse.data()[row] = static_cast<double>(lse[from]);
        if (!maps) continue;
        const Index to = row * problem_.kv_len() + span.first_key;
        std::copy_n(weights + from * span.keys, span.keys, answer.weights.data() + to);
        std::copy_n(scores + from * span.keys, span.keys, answer.scores.data() + to);
      }
    }
  }

  const AttentionProblem& problem_;
  const Index b_;
  const HeadShape shape_;
  std::vector<float> q_;
  const std::vector<float> k_, v_, slopes_, sinks_;
  std::vector<float> bias_;
  std::vector<std::uint8_t> allowed_;
  Index head_stride_ = 0, row_stride_ = 0, col_stride_ = 0;
};

std::vector<Span> spans_of(const AttentionProblem& problem, Index b) {
  const Index length =
      problem.kv_lens.empty() ? problem.kv_len() : problem.kv_lens[static_cast<std::size_t>(b)];
  std::vector<Index> queries = problem.cu_seqlens_q;
  std::vector<Index> keys = problem.cu_seqlens_k;
  if (queries.empty()) {
    queries = {0, problem.q_len()};
    keys = {0, length};
  }
  std::vector<Span> spans;
  for (std::size_t s = 0; s + 1 < queries.size(); ++s) {
    Span span{queries[s], queries[s + 1] - queries[s], keys[s], keys[s + 1] - keys[s], 0};
    if (span.queries == 0) continue;
    span.offset = sight_of(problem, b, span.first_query).position - span.first_key;
    span.keys = std::max<Index>(0, std::min(span.keys, length - span.first_key));
    spans.push_back(span);
  }
  return spans;
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
    const Sequence sequence(problem, b);
    for (const Span& span : spans_of(problem, b)) sequence.attend_span(span, answer, threads);
  }
  mark_dead_rows(problem, answer);
  return answer;
}

}  // namespace attn
