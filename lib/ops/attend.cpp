#include "ops/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attend_mask.h"

namespace attn {
namespace {

constexpr Index kBlock = 64;  // keys between two looks at the running maximum

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

// One query row of one head, streaming over its keys: `largest` and `total` are the running
// maximum and sum, `out` the mix so far in units of exp(largest).
template <class T>
struct RowState {
  T largest = kHidden<T>;
  T total = 0;
  bool seen = false;

  // The factor by which everything summed so far shrinks when the maximum rises.
  T raise(T candidate) {
    if (candidate <= largest) return T{1};
    const T factor = largest == kHidden<T> ? T{0} : std::exp(largest - candidate);
    largest = candidate;
    total *= factor;
    return factor;
  }
};

template <class T>
T dot(const T* a, const T* b, Index count) {
  T total = 0;
  for (Index i = 0; i < count; ++i) total += a[i] * b[i];
  return total;
}

template <class T>
struct Call {
  const HeadShape& shape;
  In<T> q;
  std::span<const KvRun<T>> kv;
  const AttendMask<T>& mask;
  Matrix<T> out;
  T scale;
  Index kv_rows;
};

// Adds keys first .. last - 1 of the run that begins at key `base` to the row's sums.
// scores (a block) is scratch; kept, where not null, receives every final score by key.
template <class T>
void add_keys(const Call<T>& call, const KvRun<T>& run, Index base, Index head, Index row,
              Index first, Index last, RowState<T>& state, T* scores, T* kept) {
  const Index kv_head = head / call.shape.group();
  const Index head_dim = call.shape.head_dim;
  const Index value_dim = call.shape.value_dim;
  const T* query = call.q.row(row) + head * head_dim;
  T* out = call.out.row(row) + head * value_dim;
  T largest = kHidden<T>;
  for (Index key = first; key < last; ++key) {
    T& score = scores[key - first];
    score = kHidden<T>;
    if (!hidden_by_table(call.mask, head, row, key)) {
      const T product = dot(query, run.k.row(key - base) + kv_head * head_dim, head_dim);
      score = final_score(call.mask, call.scale, head, row, key, product);
    }
    if (kept != nullptr) kept[key] = score;
    largest = std::max(largest, score);
    // A NaN is in no order; it reaches the sums by itself below.
    if (score != kHidden<T>) state.seen = true;
  }
  const T factor = state.raise(largest);
  if (factor != T{1}) {
    for (Index d = 0; d < value_dim; ++d) out[d] *= factor;
  }
  for (Index key = first; key < last; ++key) {
    const T score = scores[key - first];
    if (score == kHidden<T>) continue;
    const T weight = std::exp(score - state.largest);
    state.total += weight;
    const T* value = run.v.row(key - base) + kv_head * value_dim;
    for (Index d = 0; d < value_dim; ++d) out[d] += weight * value[d];
  }
}

template <class T>
void attend_row(const Call<T>& call, Index head, Index row, T* scratch,
                const AttendProbe<T>& probe) {
  const Index at = head * call.q.rows() + row;
  const Index table_at = at * call.kv_rows;
  T* weights = probe.weights == nullptr ? nullptr : probe.weights + table_at;
  T* scores = probe.scores == nullptr ? nullptr : probe.scores + table_at;
  T* kept = scores != nullptr ? scores : weights;
  if (kept != nullptr) std::fill(kept, kept + call.kv_rows, kHidden<T>);

  T* out = call.out.row(row) + head * call.shape.value_dim;
  std::fill(out, out + call.shape.value_dim, T{0});
  RowState<T> state;
  if (call.mask.sinks != nullptr) {
    state.largest = call.mask.sinks[head];
    state.total = T{1};
  }
  const KeyRange range = visible_keys(call.mask, row, call.kv_rows);
  Index base = 0;
  for (const KvRun<T>& run : call.kv) {
    const Index run_end = std::min(range.end, base + run.k.rows());
    for (Index first = std::max(range.begin, base); first < run_end; first += kBlock) {
      const Index last = std::min(run_end, first + kBlock);
      add_keys(call, run, base, head, row, first, last, state, scratch, kept);
    }
    base += run.k.rows();
  }

  T lse = kHidden<T>;
  if (state.seen) {
    lse = state.largest + std::log(state.total);
    for (Index d = 0; d < call.shape.value_dim; ++d) out[d] /= state.total;
  }
  if (probe.lse != nullptr) probe.lse[at] = lse;
  if (weights == nullptr) return;
  for (Index key = 0; key < call.kv_rows; ++key) {
    weights[key] = kept[key] == kHidden<T> ? T{0} : std::exp(kept[key] - lse);
  }
}

}  // namespace

template <class T>
void attend(const HeadShape& shape, In<T> q, std::span<const KvRun<T>> kv,
            const AttendMask<T>& mask, Matrix<T> out, const AttendProbe<T>& probe, Arena& arena) {
  Index kv_rows = 0;
  for (const KvRun<T>& run : kv) {
    check_attend<T>(shape, q, run.k, run.v, out);
    kv_rows += run.k.rows();
  }
  if (kv.empty()) {
    check_attend<T>(shape, q, {nullptr, 0, shape.kv_heads * shape.head_dim},
                    {nullptr, 0, shape.kv_heads * shape.value_dim}, out);
  }
  const Call<T> call{shape, q, kv, mask, out, score_scale(mask, shape.head_dim), kv_rows};
  const Arena::Scope scope(arena);
  T* scratch = arena.allocate<T>(kBlock);
  for (Index head = 0; head < shape.heads; ++head) {
    for (Index row = 0; row < q.rows(); ++row) attend_row(call, head, row, scratch, probe);
  }
}

template void attend<float>(const HeadShape&, In<float>, std::span<const KvRun<float>>,
                            const AttendMask<float>&, Matrix<float>, const AttendProbe<float>&,
                            Arena&);
template void attend<double>(const HeadShape&, In<double>, std::span<const KvRun<double>>,
                             const AttendMask<double>&, Matrix<double>, const AttendProbe<double>&,
                             Arena&);

}  // namespace attn
