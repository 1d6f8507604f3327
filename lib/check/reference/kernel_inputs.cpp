#include "check/reference/kernel_inputs.h"

#include <algorithm>

namespace attn {

namespace {

std::vector<float> as_float(const std::vector<double>& from) {
  std::vector<float> to(from.size());
  for (std::size_t n = 0; n < from.size(); ++n) to[n] = static_cast<float>(from[n]);
  return to;
}

Matrix<const float> view(const std::vector<float>& table, Index first, Index rows, Index columns) {
  return {table.data() + first * columns, rows, columns};
}

}  // namespace

std::vector<KernelSpan> kernel_spans(const AttentionProblem& problem, Index b) {
  const Index length = problem.kv_lens.empty() ? problem.whole_kv_len()
                                               : problem.kv_lens[static_cast<std::size_t>(b)];
  const Cut whole{0, problem.q_len(), 0, problem.kv_len()};
  const Cut& cut = problem.cut ? *problem.cut : whole;
  const Index end_row = cut.first_row + problem.q_len();
  const Index end_key = std::min(length, cut.first_key + problem.kv_len());
  std::vector<Index> rows = {0, problem.whole_q_len()};
  std::vector<Index> keys = {0, length};
  if (!problem.cu_seqlens_q.empty()) {
    rows = problem.cu_seqlens_q;
    keys = problem.cu_seqlens_k;
  }
  // Of a part, what lies in it of each sequence.
  std::vector<KernelSpan> spans;
  const auto after = std::upper_bound(rows.begin(), rows.end(), cut.first_row) - rows.begin();
  for (auto s = static_cast<std::size_t>(std::max<Index>(after - 1, 0));
       s + 1 < rows.size() && rows[s] < end_row; ++s) {
    KernelSpan span{};
    span.first_query = std::max(rows[s], cut.first_row) - cut.first_row;
    span.queries = std::min(rows[s + 1], end_row) - cut.first_row - span.first_query;
    if (span.queries <= 0) continue;
    const Index first_key = std::max(keys[s], cut.first_key);
    span.first_key = std::min(first_key - cut.first_key, problem.kv_len());
    span.keys = std::max<Index>(0, std::min(keys[s + 1], end_key) - first_key);
    span.offset = sight_of(problem, b, span.first_query).position - span.first_key;
    spans.push_back(span);
  }
  return spans;
}

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

KernelSequence::KernelSequence(const AttentionProblem& problem, Index b)
    : problem_(problem),
      b_(b),
      shape_{problem.heads(), problem.kv_heads(), problem.head_dim(), problem.value_dim()},
      q_(side_by_side(problem.q_row(b, 0, 0), shape_.heads, problem.q_len(), shape_.head_dim)),
      k_(side_by_side(problem.k_row(b, 0, 0), shape_.kv_heads, problem.kv_len(), shape_.head_dim)),
      v_(side_by_side(problem.v_row(b, 0, 0), shape_.kv_heads, problem.kv_len(), shape_.value_dim)),
      slopes_(as_float(problem.alibi_slopes)),
      sinks_(as_float(problem.sinks)) {
  take_mask();
  // A scale of 0 asks the kernel for its default; queries of 0 give the scores that 0 means.
  if (problem.scale() == 0) std::fill(q_.begin(), q_.end(), 0.0F);
}

Matrix<const float> KernelSequence::q(const KernelSpan& span) const {
  return view(q_, span.first_query, span.queries, shape_.heads * shape_.head_dim);
}

Matrix<const float> KernelSequence::k(const KernelSpan& span) const {
  return view(k_, span.first_key, span.keys, shape_.kv_heads * shape_.head_dim);
}

Matrix<const float> KernelSequence::v(const KernelSpan& span) const {
  return view(v_, span.first_key, span.keys, shape_.kv_heads * shape_.value_dim);
}

AttendMask<float> KernelSequence::mask(const KernelSpan& span) const {
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

void KernelSequence::take_mask() {
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
ScoreGrid<T> KernelSequence::grid(const std::vector<T>& table, const KernelSpan& span) const {
  if (table.empty()) return {};
  return {table.data() + span.first_query * row_stride_ + span.first_key * col_stride_,
          head_stride_, row_stride_, col_stride_};
}

}  // namespace attn
