#include "ops/attend_short.h"

#include <algorithm>
#include <cmath>

#include "ops/attend_block.h"
#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attend_short.cpp"
#include <hwy/foreach_target.h>

#include "ops/attend_lanes-inl.h"
#include "ops/lane_products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

template <class T>
void short_forward(const ShortAttention<T>& call, Matrix<const T> q, Matrix<const T> k,
                   Matrix<const T> v, Matrix<T> out, T* lse, Arena& arena) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const Index rows = call.seq_len;
  const Index padded_rows = (rows + 3) / 4 * 4;
  const Index dim = call.shape.head_dim, value_dim = call.shape.value_dim;
  const Index row = row_size<T>(dim), value_row = row_size<T>(value_dim);
  const Index score_row = row_size<T>(padded_rows);
  T* const queries = arena.allocate<T>(padded_rows * row);
  T* const keys = arena.allocate<T>(padded_rows * row);
  T* const values = arena.allocate<T>(padded_rows * value_row);
  T* const mixed = arena.allocate<T>(rows * value_row);
  T* const scores = arena.allocate<T>(kQueriesAtOnce * score_row);
  T* const sums = arena.allocate<T>(rows * lanes);
  for_groups(call, [&](const Group& group) HWY_ATTR {
    turn_in(group, q, dim, queries);
    turn_in(group, k, dim, keys);
    turn_in(group, v, value_dim, values);
    for_queries(rows, [&](Index first, Index count) HWY_ATTR {
      const auto seen_by = [&](Index i) { return call.causal ? first + i + 1 : rows; };
      lane_matrix<T>({queries + first * row, row, lanes}, {keys, lanes, row}, count,
                     [&](Index) {
                       return KeyRange{0, dim};
                     },
                     seen_by, false, {scores, score_row, lanes});
      for (Index i = 0; i < count; ++i) {
        hn::Store(softmax_of_lanes(scores + i * score_row, seen_by(i), call.scale), d,
                  sums + (first + i) * lanes);
      }
      lane_matrix<T>(
          {scores, score_row, lanes}, {values, value_row, lanes}, count,
          [&](Index i) {
            return KeyRange{0, seen_by(i)};
          },
          [&](Index) { return value_dim; }, false, {mixed + first * value_row, value_row, lanes});
    });
    turn_out(group, mixed, value_dim, out);
    if (lse != nullptr) {
      turn_rows<T>(Matrix<const T>(sums, rows, group.pairs, lanes),
                   Matrix<T>(lse + group.first * rows, group.pairs, rows));
    }
  });
}

template <class T>
void short_backward(const ShortAttention<T>& call, Matrix<const T> q, Matrix<const T> k,
                    Matrix<const T> v, const T* lse, Matrix<const T> d_out, Matrix<T> d_q,
                    Matrix<T> d_k, Matrix<T> d_v, Arena& arena) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const Index rows = call.seq_len;
  const Index padded_rows = (rows + 3) / 4 * 4;
  const Index dim = call.shape.head_dim, value_dim = call.shape.value_dim;
  const Index row = row_size<T>(dim), value_row = row_size<T>(value_dim);
  const Index score_row = row_size<T>(padded_rows);
  T* const queries = arena.allocate<T>(padded_rows * row);
  T* const keys = arena.allocate<T>(padded_rows * row);
  T* const values = arena.allocate<T>(padded_rows * value_row);
  T* const d_mixed = arena.allocate<T>(padded_rows * value_row);
  T* const d_queries = arena.allocate<T>(rows * row);
  T* const d_keys = arena.allocate<T>(rows * row);
  T* const d_values = arena.allocate<T>(rows * value_row);
  T* const sums = arena.allocate<T>(rows * lanes);
  // (row, key): weights, and gradients by the products
  T* const weights = arena.allocate<T>(kQueriesAtOnce * score_row);
  T* const d_scores = arena.allocate<T>(kQueriesAtOnce * score_row);
  const auto key_outputs = [&](Index) { return dim; };
  const auto value_outputs = [&](Index) { return value_dim; };
  for_groups(call, [&](const Group& group) HWY_ATTR {
    turn_in(group, q, dim, queries);
    turn_in(group, k, dim, keys);
    turn_in(group, v, value_dim, values);
    turn_in(group, d_out, value_dim, d_mixed);
    turn_rows<T>(Matrix<const T>(lse + group.first * rows, group.pairs, rows),
                 Matrix<T>(sums, rows, group.pairs, lanes));
    for (Index i = 0; i < rows; ++i) {
      T* const of_row = sums + i * lanes;
      std::fill(of_row + group.pairs, of_row + lanes, of_row[group.pairs - 1]);
    }
    std::fill_n(d_keys, rows * row, T{0});
    std::fill_n(d_values, rows * value_row, T{0});
    for_queries(rows, [&](Index first, Index count) HWY_ATTR {
      const auto seen_by = [&](Index i) { return call.causal ? first + i + 1 : rows; };
      const T* const some_queries = queries + first * row;
      const T* const d_some = d_mixed + first * value_row;
      lane_matrix<T>({some_queries, row, lanes}, {keys, lanes, row}, count,
                     [&](Index) {
                       return KeyRange{0, dim};
                     },
                     seen_by, false, {weights, score_row, lanes});
      lane_matrix<T>({d_some, value_row, lanes}, {values, lanes, value_row}, count,
                     [&](Index) {
                       return KeyRange{0, value_dim};
                     },
                     seen_by, false, {d_scores, score_row, lanes});
      for (Index i = 0; i < count; ++i) {
        softmax_backward_of_lanes(weights + i * score_row, d_scores + i * score_row, seen_by(i),
                                  call.scale, hn::Load(d, sums + (first + i) * lanes));
      }
      // scores = scale * q * k^T
      lane_matrix<T>({d_scores, score_row, lanes}, {keys, row, lanes}, count,
                     [&](Index i) {
                       return KeyRange{0, seen_by(i)};
                     },
                     key_outputs, false, {d_queries + first * row, row, lanes});
      // Key j is seen by row j and later.
      const auto seeing_rows = [&](Index j) {
        return KeyRange{call.causal ? std::max<Index>(j - first, 0) : 0, count};
      };
      const Index seen_keys = seen_by(count - 1);
      lane_matrix<T>({d_scores, lanes, score_row}, {some_queries, row, lanes}, seen_keys,
                     seeing_rows, key_outputs, true, {d_keys, row, lanes});
      // out = weights * v
      lane_matrix<T>({weights, lanes, score_row}, {d_some, value_row, lanes}, seen_keys,
                     seeing_rows, value_outputs, true, {d_values, value_row, lanes});
    });
    turn_out(group, d_queries, dim, d_q);
    turn_out(group, d_keys, dim, d_k);
    turn_out(group, d_values, value_dim, d_v);
  });
}

ATTNTOOLS_BOTH_TYPES(short_forward);
ATTNTOOLS_BOTH_TYPES(short_backward);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(short_forward);
ATTNTOOLS_EXPORT(short_backward);

// Wider heads, a vector of each number, leave the first cache.
constexpr Index kShort = 16;
constexpr Index kMostNumbers = 512;
// Longer sequences fill the general kernel's registers: they are quicker by lanes only where heads
// are narrow and lanes are full.
constexpr Index kLongestShort = 64;
constexpr Index kNarrowHead = 16;
constexpr Index kFullLanes = 16;

template <class T>
void check(const ShortAttention<T>& call, In<T> q, In<T> k, In<T> v, In<T> out) {
  require_shape(call.fits(), "attend_short: a shape of another kind");
  check_attend<T>(call.shape, q, k, v, out);
  require_shape(q.rows() == call.batch * call.seq_len && k.rows() == q.rows(),
                "attend_short: rows");
}

template <class T>
ShortAttention<T> scaled(ShortAttention<T> call) {
  if (call.scale == T{0}) call.scale = T{1} / std::sqrt(static_cast<T>(call.shape.head_dim));
  return call;
}

}  // namespace

template <class T>
bool ShortAttention<T>::fits() const {
  if (shape.heads != shape.kv_heads || shape.head_dim % 4 != 0 || shape.value_dim % 4 != 0 ||
      seq_len < 1) {
    return false;
  }
  const Index width = std::max(shape.head_dim, shape.value_dim);
  if (seq_len <= kShort) return seq_len * width <= kMostNumbers;
  return seq_len <= kLongestShort && width <= kNarrowHead && batch * shape.heads >= kFullLanes;
}

template <class T>
void attend_short(const ShortAttention<T>& call, In<T> q, In<T> k, In<T> v, Matrix<T> out, T* lse,
                  Arena& arena) {
  check<T>(call, q, k, v, out);
  const Arena::Scope scope(arena);
  ATTNTOOLS_DISPATCH(T, short_forward)(scaled(call), q, k, v, out, lse, arena);
}

template <class T>
void attend_short_backward(const ShortAttention<T>& call, In<T> q, In<T> k, In<T> v,
                           const std::type_identity_t<T>* lse, In<T> d_out, Matrix<T> d_q,
                           Matrix<T> d_k, Matrix<T> d_v, Arena& arena) {
  check<T>(call, q, k, v, d_out);
  check<T>(call, d_q, d_k, d_v, d_out);
  const Arena::Scope scope(arena);
  ATTNTOOLS_DISPATCH(T, short_backward)
  (scaled(call), q, k, v, lse, d_out, d_q, d_k, d_v, arena);
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define ATTNTOOLS_INSTANTIATE(T)                                                                  \
  template struct ShortAttention<T>;                                                              \
  template void attend_short<T>(const ShortAttention<T>&, In<T>, In<T>, In<T>, Matrix<T>, T*,     \
                                Arena&);                                                          \
  template void attend_short_backward<T>(const ShortAttention<T>&, In<T>, In<T>, In<T>, const T*, \
                                         In<T>, Matrix<T>, Matrix<T>, Matrix<T>, Arena&)
// NOLINTEND(bugprone-macro-parentheses)

ATTNTOOLS_INSTANTIATE(float);
ATTNTOOLS_INSTANTIATE(double);

#undef ATTNTOOLS_INSTANTIATE

}  // namespace attn
#endif  // HWY_ONCE
