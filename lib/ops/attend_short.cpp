#include "ops/attend_short.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attend_block.h"
#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attend_short.cpp"
#include <hwy/foreach_target.h>

#include "ops/products-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// One group: as many heads ("pairs" of a sequence and a head, in that order) as a vector has lanes.
// Number (i, d) of all of them is the vector at (i * width + d) * lanes.
struct Group {
  Index first;
  Index pairs;
  Index heads;
  Index rows;  // of a sequence

  // Where a lane's head begins; lanes without a pair repeat the last.
  template <class T>
  HWY_INLINE T* begin(Matrix<T> x, Index lane, Index width) const {
    const Index pair = first + std::min(lane, pairs - 1);
    return x.row(pair / heads * rows) + pair % heads * width;
  }
};

// use(rows, i, lane): rows i of the kSide heads from `lane` on.
template <class T, class F>
HWY_INLINE void for_squares(const Group& group, Matrix<T> x, Index width, const F& use) {
  for (Index lane = 0; lane < lanes_of<std::remove_const_t<T>>(); lane += kSide<T>) {
    SquareRows<T> rows;
    for (Index l = 0; l < kSide<T>; ++l) rows.of[l] = group.begin(x, lane + l, width);
    for (Index i = 0; i < group.rows; ++i) use(rows.right(i * x.stride()), i, lane);
  }
}

// Rows up to the next multiple of 4 become 0.
template <class T>
void turn_in(const Group& group, Matrix<const T> x, Index width, T* to) {
  const Index lanes = lanes_of<T>();
  const Index size = width * lanes;
  std::fill(to + group.rows * size, to + (group.rows + 3) / 4 * 4 * size, T{0});
  for_squares(group, x, width, [&](const SquareRows<const T>& rows, Index i, Index lane) HWY_ATTR {
    for (Index c = 0; c < width; c += kSide<T>) {
      turn_square<T>(rows.right(c), square_rows(to + i * size + c * lanes + lane, lanes));
    }
  });
}

// Lanes without a pair hold what the last pair's does, and store it once more.
template <class T>
void turn_out(const Group& group, const T* from, Index width, Matrix<T> x) {
  const Index lanes = lanes_of<T>();
  for_squares(group, x, width, [&](const SquareRows<T>& rows, Index i, Index lane) HWY_ATTR {
    for (Index c = 0; c < width; c += kSide<T>) {
      const T* at = from + (i * width + c) * lanes + lane;
      turn_square<T>(square_rows(at, lanes), rows.right(c));
    }
  });
}

// c[x] = the sum over t of a[t] * b[t, x], all of them vectors: of outputs 0 .. count - 1, and up
// to the next multiple of 4.
template <class T>
HWY_INLINE void lane_products(const T* a, Index a_step, const T* b, Index b_step, Index b_next,
                              Index terms, Index count, T* c) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  for (Index x = 0; x < count; x += 4) {
    const T* from = b + x * b_next;
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (Index t = 0; t < terms; ++t) {
      const auto by = hn::Load(d, a + t * a_step);
      const T* at = from + t * b_step;
      s0 = hn::MulAdd(by, hn::Load(d, at), s0);
      s1 = hn::MulAdd(by, hn::Load(d, at + b_next), s1);
      s2 = hn::MulAdd(by, hn::Load(d, at + 2 * b_next), s2);
      s3 = hn::MulAdd(by, hn::Load(d, at + 3 * b_next), s3);
    }
    T* to = c + x * lanes;
    hn::Store(s0, d, to);
    hn::Store(s1, d, to + lanes);
    hn::Store(s2, d, to + 2 * lanes);
    hn::Store(s3, d, to + 3 * lanes);
  }
}

// Scores s become weights that sum to 1; returns their log-sum-exp. A row of minus infinities gives
// zeros.
template <class T>
HWY_INLINE hn::Vec<Tag<T>> softmax_of_lanes(T* s, Index count, T by) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const auto scale = hn::Set(d, by);
  const auto hidden = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto largest = hidden;
  for (Index j = 0; j < count; ++j) largest = hn::Max(largest, hn::Load(d, s + j * lanes));
  largest = hn::Mul(largest, scale);
  const auto shift = hn::IfThenZeroElse(hn::Eq(largest, hidden), largest);
  auto total = hn::Zero(d);
  for (Index j = 0; j < count; ++j) {
    const auto weight = exp_of(hn::Sub(hn::Mul(hn::Load(d, s + j * lanes), scale), shift));
    hn::Store(weight, d, s + j * lanes);
    total = hn::Add(total, weight);
  }
  const auto nothing = hn::Eq(total, hn::Zero(d));
  const auto inverse = hn::IfThenZeroElse(nothing, hn::Div(hn::Set(d, T{1}), total));
  for (Index j = 0; j < count; ++j) {
    hn::Store(hn::Mul(hn::Load(d, s + j * lanes), inverse), d, s + j * lanes);
  }
  return hn::IfThenElse(nothing, hidden, hn::Add(shift, hn::Log(d, total)));
}

// Products s become weights exp(score - lse), and d_weights gradients by the products.
template <class T>
HWY_INLINE void softmax_backward_of_lanes(T* s, T* d_weights, Index count, T by,
                                          hn::Vec<Tag<T>> lse) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const auto scale = hn::Set(d, by);
  const auto nothing = hn::Eq(lse, hn::Set(d, -std::numeric_limits<T>::infinity()));
  auto common = hn::Zero(d);
  for (Index j = 0; j < count; ++j) {
    auto weight = exp_of(hn::Sub(hn::Mul(hn::Load(d, s + j * lanes), scale), lse));
    weight = hn::IfThenZeroElse(nothing, weight);
    hn::Store(weight, d, s + j * lanes);
    common = hn::MulAdd(weight, hn::Load(d, d_weights + j * lanes), common);
  }
  for (Index j = 0; j < count; ++j) {
    const auto weight = hn::Load(d, s + j * lanes);
    const auto above = hn::Sub(hn::Load(d, d_weights + j * lanes), common);
    hn::Store(hn::Mul(hn::Mul(weight, above), scale), d, d_weights + j * lanes);
  }
}

template <class T, class F>
HWY_INLINE void for_groups(const ShortAttention<T>& call, const F& use) {
  const Index all = call.batch * call.shape.heads;
  for (Index first = 0; first < all; first += lanes_of<T>()) {
    use(Group{first, std::min(lanes_of<T>(), all - first), call.shape.heads, call.seq_len});
  }
}

template <class T>
void short_forward(const ShortAttention<T>& call, Matrix<const T> q, Matrix<const T> k,
                   Matrix<const T> v, Matrix<T> out, T* lse, Arena& arena) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const Index rows = call.seq_len;
  const Index padded_rows = (rows + 3) / 4 * 4;
  const Index dim = call.shape.head_dim, value_dim = call.shape.value_dim;
  T* const queries = arena.allocate<T>(padded_rows * dim * lanes);
  T* const keys = arena.allocate<T>(padded_rows * dim * lanes);
  T* const values = arena.allocate<T>(padded_rows * value_dim * lanes);
  T* const mixed = arena.allocate<T>(rows * value_dim * lanes);
  T* const scores = arena.allocate<T>(padded_rows * lanes);
  T* const sums = arena.allocate<T>(rows * lanes);
  for_groups(call, [&](const Group& group) HWY_ATTR {
    turn_in(group, q, dim, queries);
    turn_in(group, k, dim, keys);
    turn_in(group, v, value_dim, values);
    for (Index i = 0; i < rows; ++i) {
      const Index seen = call.causal ? i + 1 : rows;
      lane_products(queries + i * dim * lanes, lanes, keys, lanes, dim * lanes, dim, seen, scores);
      hn::Store(softmax_of_lanes(scores, seen, call.scale), d, sums + i * lanes);
      lane_products(scores, lanes, values, value_dim * lanes, lanes, seen, value_dim,
                    mixed + i * value_dim * lanes);
    }
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
  const Index keys_size = padded_rows * dim * lanes, values_size = padded_rows * value_dim * lanes;
  T* const queries = arena.allocate<T>(keys_size);
  T* const keys = arena.allocate<T>(keys_size);
  T* const values = arena.allocate<T>(values_size);
  T* const d_mixed = arena.allocate<T>(values_size);
  T* const gradients = arena.allocate<T>(std::max(keys_size, values_size));
  T* const sums = arena.allocate<T>(rows * lanes);
  // (row, key): weights, and gradients by the products
  T* const weights = arena.allocate<T>(rows * padded_rows * lanes);
  T* const d_scores = arena.allocate<T>(rows * padded_rows * lanes);
  const Index row_size = padded_rows * lanes;
  for_groups(call, [&](const Group& group) HWY_ATTR {
    turn_in(group, q, dim, queries);
    turn_in(group, k, dim, keys);
    turn_in(group, v, value_dim, values);
    turn_in(group, d_out, value_dim, d_mixed);
    turn_rows<T>(Matrix<const T>(lse + group.first * rows, group.pairs, rows),
                 Matrix<T>(sums, rows, group.pairs, lanes));
    for (Index i = 0; i < rows; ++i) {
      T* const row = sums + i * lanes;
      std::fill(row + group.pairs, row + lanes, row[group.pairs - 1]);
    }
    const auto seen_by = [&](Index i) { return call.causal ? i + 1 : rows; };
    for (Index i = 0; i < rows; ++i) {
      T* const s = weights + i * row_size;
      T* const d_s = d_scores + i * row_size;
      lane_products(queries + i * dim * lanes, lanes, keys, lanes, dim * lanes, dim, seen_by(i), s);
      lane_products(d_mixed + i * value_dim * lanes, lanes, values, lanes, value_dim * lanes,
                    value_dim, seen_by(i), d_s);
      softmax_backward_of_lanes(s, d_s, seen_by(i), call.scale, hn::Load(d, sums + i * lanes));
    }
    // scores = scale * q * k^T
    for (Index i = 0; i < rows; ++i) {
      lane_products(d_scores + i * row_size, lanes, keys, dim * lanes, lanes, seen_by(i), dim,
                    gradients + i * dim * lanes);
    }
    turn_out(group, gradients, dim, d_q);
    // Key j is seen by rows `from` and later.
    for (Index j = 0; j < rows; ++j) {
      const Index from = call.causal ? j : 0;
      lane_products(d_scores + from * row_size + j * lanes, row_size, queries + from * dim * lanes,
                    dim * lanes, lanes, rows - from, dim, gradients + j * dim * lanes);
    }
    turn_out(group, gradients, dim, d_k);
    // out = weights * v
    for (Index j = 0; j < rows; ++j) {
      const Index from = call.causal ? j : 0;
      lane_products(weights + from * row_size + j * lanes, row_size,
                    d_mixed + from * value_dim * lanes, value_dim * lanes, lanes, rows - from,
                    value_dim, gradients + j * value_dim * lanes);
    }
    turn_out(group, gradients, value_dim, d_v);
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

// Longer sequences fill the general kernel's registers, and wider heads, a vector of each number,
// leave the first cache.
constexpr Index kLongestShort = 16;
constexpr Index kMostNumbers = 512;

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
  return shape.heads == shape.kv_heads && shape.head_dim % 4 == 0 && shape.value_dim % 4 == 0 &&
         seq_len >= 1 && seq_len <= kLongestShort &&
         seq_len * std::max(shape.head_dim, shape.value_dim) <= kMostNumbers;
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
