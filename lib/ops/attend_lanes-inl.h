// Heads in lanes: how a group of heads is laid out, brought in and out, and its softmax, for
// attend_short.cpp. Included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_LANES_INL_H
#undef ATTNTOOLS_OPS_ATTEND_LANES_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_LANES_INL_H
#endif

#include <algorithm>
#include <limits>
#include <type_traits>

#include "ops/attend_short.h"
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

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
