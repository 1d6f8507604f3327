// Heads in lanes: their softmax, forward and backward, and the walk over groups of heads, for
// attend_short.cpp. Included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_LANES_INL_H
#undef ATTNTOOLS_OPS_ATTEND_LANES_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_LANES_INL_H
#endif

#include <algorithm>
#include <limits>

#include "ops/attend_short.h"
#include "ops/lane_turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

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
