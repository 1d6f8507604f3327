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
// Number (i, d) of all of them is the vector at i * row_size(width) + d * lanes.
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

// Of so many vectors, and one more, for rows a power of two apart push each other out of the first
// cache.
template <class T>
HWY_INLINE Index row_size(Index vectors) {
  return (vectors + 1) * lanes_of<T>();
}

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
  const Index size = row_size<T>(width);
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
      const T* at = from + i * row_size<T>(width) + c * lanes + lane;
      turn_square<T>(square_rows(at, lanes), rows.right(c));
    }
  });
}

// Rows of a that are taken together: 16 sums of 32 registers with AVX-512, 8 of 16 before.
inline constexpr int kRowsOfLanes = kVectors == 4 ? 4 : 2;

// A matrix of vectors: (r, t) at data[r * row_step + t * step].
template <class T>
struct LaneWalk {
  T* data;
  Index row_step;
  Index step;
};

// c(r, x) = the sum over t in terms of a(r, t) * b(t, x), all of them vectors, of kCount rows and
// four outputs; begins with what c holds, or with 0.
template <int kCount, class T>
HWY_INLINE void lane_block(const LaneWalk<const T>& a, const LaneWalk<const T>& b, KeyRange terms,
                           bool add, const LaneWalk<T>& c) {
  const Tag<T> d;
  Sums<kCount, 4, T> sums;
  for (int r = 0; r < kCount; ++r) {
    for (int i = 0; i < 4; ++i) sums.of[r][i] = hn::Zero(d);
  }
  if (add) {
    for (int r = 0; r < kCount; ++r) {
      for (int i = 0; i < 4; ++i) {
        sums.of[r][i] = hn::Load(d, c.data + r * c.row_step + i * c.step);
      }
    }
  }
  for (Index t = terms.begin; t < terms.end; ++t) {
    const T* at = b.data + t * b.row_step;
    hn::Vec<Tag<T>> right[4];
    for (int i = 0; i < 4; ++i) right[i] = hn::Load(d, at + i * b.step);
    for (int r = 0; r < kCount; ++r) {
      const auto by = hn::Load(d, a.data + r * a.row_step + t * a.step);
      for (int i = 0; i < 4; ++i) sums.of[r][i] = hn::MulAdd(by, right[i], sums.of[r][i]);
    }
  }
  for (int r = 0; r < kCount; ++r) {
    for (int i = 0; i < 4; ++i) {
      hn::Store(sums.of[r][i], d, c.data + r * c.row_step + i * c.step);
    }
  }
}

// Of kCount rows and outputs 0 .. count - 1, and up to the next multiple of 4. Row r has its own
// terms[r]: a sum runs in the order of t over those alone, whatever its neighbours' are.
template <int kCount, class T>
HWY_INLINE void lane_products(const LaneWalk<const T>& a, const LaneWalk<const T>& b, Index count,
                              const KeyRange* terms, bool add, const LaneWalk<T>& c) {
  KeyRange common = terms[0];
  KeyRange all = terms[0];
  for (int r = 1; r < kCount; ++r) {
    common = {std::max(common.begin, terms[r].begin), std::min(common.end, terms[r].end)};
    all = {std::min(all.begin, terms[r].begin), std::max(all.end, terms[r].end)};
  }
  for (Index x = 0; x < count; x += 4) {
    const LaneWalk<const T> from{b.data + x * b.step, b.row_step, b.step};
    const LaneWalk<T> to{c.data + x * c.step, c.row_step, c.step};
    const auto one_row = [&](int r, KeyRange own, bool more) HWY_ATTR {
      lane_block<1, T>({a.data + r * a.row_step, a.row_step, a.step}, from, own, more,
                       {to.data + r * to.row_step, to.row_step, to.step});
    };
    const bool before = all.begin < common.begin;
    for (int r = 0; before && r < kCount; ++r) {
      one_row(r, {terms[r].begin, common.begin}, add);
    }
    lane_block<kCount, T>(a, from, common, add || before, to);
    for (int r = 0; r < kCount; ++r) {
      if (common.end < terms[r].end) one_row(r, {common.end, terms[r].end}, true);
    }
  }
}

// All rows, some together: row i has the terms terms_of(i) and outputs 0 .. count_of(i) - 1,
// neither of which falls from row to row.
template <class T, class Terms, class Outputs>
HWY_INLINE void lane_matrix(const LaneWalk<const T>& a, const LaneWalk<const T>& b, Index rows,
                            const Terms& terms_of, const Outputs& count_of, bool add,
                            const LaneWalk<T>& c) {
  Index row = 0;
  const auto take = [&](auto together) HWY_ATTR {
    constexpr int kCount = decltype(together)::value;
    for (; row + kCount <= rows; row += kCount) {
      KeyRange terms[static_cast<size_t>(kCount)];
      for (int r = 0; r < kCount; ++r) terms[r] = terms_of(row + r);
      lane_products<kCount, T>({a.data + row * a.row_step, a.row_step, a.step}, b,
                               count_of(row + kCount - 1), terms, add,
                               {c.data + row * c.row_step, c.row_step, c.step});
    }
  };
  take(std::integral_constant<int, kRowsOfLanes>());
  take(std::integral_constant<int, 1>());
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

// Query rows whose scores are held at once, in the first cache.
inline constexpr Index kQueriesAtOnce = 8;

// use(first, count): query rows first .. first + count - 1.
template <class F>
HWY_INLINE void for_queries(Index rows, const F& use) {
  for (Index first = 0; first < rows; first += kQueriesAtOnce) {
    use(first, std::min(kQueriesAtOnce, rows - first));
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
