// Softmax over a tile of scores, for attend_kernels.cpp. Included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_SOFTMAX_INL_H
#undef ATTNTOOLS_OPS_ATTEND_SOFTMAX_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_SOFTMAX_INL_H
#endif

#include "ops/attend_scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// The largest of by * s. Where by is not negative that is by times the largest s: products and
// their rounding keep the order.
template <class T>
HWY_INLINE T largest_score(const T* s, KeyRange range, T by) {
  const Tag<T> d;
  const auto lowest = hn::Set(d, kHidden<T>);
  const T factor = by >= T{0} ? T{1} : T{-1};
  const auto sign = hn::Set(d, factor);
  auto largest = lowest;
  for_range<T>(range, [&](auto all, Index i, auto inside) HWY_ATTR {
    auto v = hn::Mul(hn::LoadU(d, s + i), sign);
    if constexpr (!all.value) v = hn::IfThenElse(inside, v, lowest);
    largest = hn::Max(largest, v);
  });
  return factor * by * hn::GetLane(hn::MaxOfLanes(d, largest));
}

// exp_of for what is 0 at most, or NaN: fewer instructions. Rounding to a
// whole number by adding 1.5 * 2^23 leaves it in the low bits.
template <class V>
HWY_INLINE V exp_of_fallen(V x) {
  const hn::DFromV<V> d;
  if constexpr (!std::is_same_v<hn::TFromV<V>, float>) {
    return exp_of(x);
  } else {
    const hn::RebindToSigned<decltype(d)> di;
    const V shifter = hn::Set(d, 12582912.0F);
    const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), shifter);
    const V whole = hn::Sub(shifted, shifter);
    const V mantissa = exp_of_rest(x, whole);
    const auto power = hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, shifted)), hn::Set(di, 127 << 23));
    const V y = hn::Mul(mantissa, hn::BitCast(d, power));
    return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kLeastExponent)), y);
  }
}

// exp_of_fallen of several, step by step for all of them: one after another, they would fill the
// processor's queues with steps that wait for the ones before.
template <class V, size_t kCount>
HWY_INLINE void exp_of_fallen_ones(V (&x)[kCount]) {
  const hn::DFromV<V> d;
  if constexpr (!std::is_same_v<hn::TFromV<V>, float>) {
    for (V& one : x) one = exp_of(one);
  } else {
    const hn::RebindToSigned<decltype(d)> di;
    const V shifter = hn::Set(d, 12582912.0F);
    V shifted[kCount], r[kCount], p[kCount];
    const auto each = [](const auto& step) HWY_ATTR {
      for (size_t i = 0; i < kCount; ++i) step(i);
    };
    each([&](size_t i)
             HWY_ATTR { shifted[i] = hn::MulAdd(x[i], hn::Set(d, 1.44269504F), shifter); });
    each([&](size_t i) HWY_ATTR { p[i] = hn::Sub(shifted[i], shifter); });
    each([&](size_t i) HWY_ATTR { r[i] = hn::NegMulAdd(p[i], hn::Set(d, kLn2High), x[i]); });
    each([&](size_t i) HWY_ATTR { r[i] = hn::NegMulAdd(p[i], hn::Set(d, kLn2Low), r[i]); });
    each([&](size_t i) HWY_ATTR {
      p[i] = hn::MulAdd(r[i], hn::Set(d, kExpRest[4]), hn::Set(d, kExpRest[3]));
    });
    for (int c = 2; c >= 0; --c) {
      each([&](size_t i) HWY_ATTR { p[i] = hn::MulAdd(r[i], p[i], hn::Set(d, kExpRest[c])); });
    }
    V square[kCount];
    each([&](size_t i) HWY_ATTR { square[i] = hn::Mul(r[i], r[i]); });
    each([&](size_t i) HWY_ATTR { p[i] = hn::MulAdd(square[i], p[i], r[i]); });
    each([&](size_t i) HWY_ATTR { p[i] = hn::Add(p[i], hn::Set(d, 1.0F)); });
    each([&](size_t i) HWY_ATTR {
      const auto power =
          hn::Add(hn::ShiftLeft<23>(hn::BitCast(di, shifted[i])), hn::Set(di, 127 << 23));
      p[i] = hn::Mul(p[i], hn::BitCast(d, power));
    });
    each([&](size_t i) HWY_ATTR {
      x[i] = hn::IfThenZeroElse(hn::Lt(x[i], hn::Set(d, kLeastExponent)), p[i]);
    });
  }
}

// Scores become exp(by * s - shift), 0 outside the range; returns their sum. The shift is the
// largest of by * s so far.
template <class T>
HWY_INLINE T exponentiate(T* s, KeyRange range, T by, T shift) {
  const Tag<T> d;
  const auto scale = hn::Set(d, by);
  const auto less = hn::Set(d, shift);
  auto sum = hn::Zero(d);
  for_range<T>(range, [&](auto all, Index i, auto inside) HWY_ATTR {
    // Not one fused step: of a score beyond 2^24 its unrounded product could rise far above the
    // rounded largest.
    auto weight = exp_of_fallen(hn::Sub(hn::Mul(hn::LoadU(d, s + i), scale), less));
    if constexpr (!all.value) weight = hn::IfThenElseZero(inside, weight);
    hn::StoreU(weight, d, s + i);
    sum = hn::Add(sum, weight);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// The scores' largest becomes `rise` at least; what was summed before is worth `factor` of it.
template <class T>
HWY_INLINE void rise_to(T rise, T& largest, T& total, T& factor) {
  if (rise <= largest) return;
  if (largest != kHidden<T>) factor = std::exp(largest - rise);
  total = largest == kHidden<T> ? T{0} : total * factor;
  largest = rise;
}

// A row of a tile whose scores are by * s.
template <class T>
HWY_INLINE void softmax_row_of_tile(T* s, Index keys, KeyRange range, T by, T& largest, T& total,
                                    T& factor, bool& seen) {
  factor = T{1};
  const T rise = largest_score(s, range, by);
  // The maximum may have lost a NaN, which is not hidden, and on Highway's emulated target it
  // starts at the lowest finite number.
  if (rise <= std::numeric_limits<T>::lowest() &&
      std::all_of(s + range.begin, s + range.end, [by](T x) { return by * x == kHidden<T>; })) {
    std::fill(s, s + keys, T{0});
    return;
  }
  seen = true;
  rise_to(rise, largest, total, factor);
  total += exponentiate(s, range, by, largest);
  clear_outside(range, keys, s);
}

// Rows that are taken together: each alone would wait for its largest, its sum and the ends of its
// loops. Every row's bits are those it has alone: what it does not see adds 0 to its sum.
inline constexpr int kRowsTogether = 4;

// Calls step(all, i) for every vector that holds a lane of some row's range: `all` is
// std::true_type where it lies in the ranges of all of them.
template <class T, class F>
HWY_INLINE void for_ranges(const KeyRange* ranges, const F& step) {
  const Index lanes = lanes_of<T>();
  KeyRange any = ranges[0];
  KeyRange all = ranges[0];
  for (int r = 1; r < kRowsTogether; ++r) {
    any = {std::min(any.begin, ranges[r].begin), std::max(any.end, ranges[r].end)};
    all = {std::max(all.begin, ranges[r].begin), std::min(all.end, ranges[r].end)};
  }
  Index i = any.begin / lanes * lanes;
  for (; i < all.begin && i < any.end; i += lanes) step(std::false_type(), i);
  for (; i + lanes <= all.end; i += lanes) step(std::true_type(), i);
  for (; i < any.end; i += lanes) step(std::false_type(), i);
}

// The lanes of vector i that lie in a range.
template <class T>
HWY_INLINE hn::Mask<Tag<T>> lanes_inside(KeyRange range, Index i) {
  const Tag<T> d;
  const auto from = [=](Index lane) HWY_ATTR {
    return hn::FirstN(d, static_cast<size_t>(std::clamp<Index>(lane, 0, lanes_of<T>())));
  };
  return hn::AndNot(from(range.begin - i), from(range.end - i));
}

template <class T>
struct TogetherRows {
  T* of[static_cast<size_t>(kRowsTogether)];
};

// rises[r] = largest_score of row r.
template <class T>
HWY_INLINE void largest_scores(const TogetherRows<T>& s, const KeyRange* ranges, T by, T* rises) {
  const Tag<T> d;
  const auto lowest = hn::Set(d, kHidden<T>);
  const T factor = by >= T{0} ? T{1} : T{-1};
  const auto sign = hn::Set(d, factor);
  hn::Vec<Tag<T>> largest[static_cast<size_t>(kRowsTogether)];
  for (auto& one : largest) one = lowest;
  for_ranges<T>(ranges, [&](auto all, Index i) HWY_ATTR {
    for (int r = 0; r < kRowsTogether; ++r) {
      auto v = hn::Mul(hn::LoadU(d, s.of[r] + i), sign);
      if constexpr (!all.value) v = hn::IfThenElse(lanes_inside<T>(ranges[r], i), v, lowest);
      largest[r] = hn::Max(largest[r], v);
    }
  });
  for (int r = 0; r < kRowsTogether; ++r) {
    rises[r] = factor * by * hn::GetLane(hn::MaxOfLanes(d, largest[r]));
  }
}

// totals[r] += exponentiate of row r.
template <class T>
HWY_INLINE void exponentiate_rows(const TogetherRows<T>& s, const KeyRange* ranges, T by,
                                  const T* shifts, T* totals) {
  const Tag<T> d;
  const auto scale = hn::Set(d, by);
  hn::Vec<Tag<T>> less[static_cast<size_t>(kRowsTogether)];
  hn::Vec<Tag<T>> sums[static_cast<size_t>(kRowsTogether)];
  for (int r = 0; r < kRowsTogether; ++r) {
    less[r] = hn::Set(d, shifts[r]);
    sums[r] = hn::Zero(d);
  }
  for_ranges<T>(ranges, [&](auto all, Index i) HWY_ATTR {
    hn::Vec<Tag<T>> weights[static_cast<size_t>(kRowsTogether)];
    for (int r = 0; r < kRowsTogether; ++r) {
      weights[r] = hn::Sub(hn::Mul(hn::LoadU(d, s.of[r] + i), scale), less[r]);
    }
    exp_of_fallen_ones(weights);
    for (int r = 0; r < kRowsTogether; ++r) {
      if constexpr (!all.value) {
        weights[r] = hn::IfThenElseZero(lanes_inside<T>(ranges[r], i), weights[r]);
      }
      hn::StoreU(weights[r], d, s.of[r] + i);
      sums[r] = hn::Add(sums[r], weights[r]);
    }
  });
  for (int r = 0; r < kRowsTogether; ++r) totals[r] += hn::GetLane(hn::SumOfLanes(d, sums[r]));
}

// Rows of a tile whose scores are by * s; false, and nothing done, where one of them wants
// softmax_row_of_tile's care.
template <class T>
HWY_INLINE bool softmax_rows_together(Matrix<T> s, const KeyRange* ranges, T by,
                                      const RunningSoftmax<T>& state) {
  TogetherRows<T> rows;
  KeyRange any = ranges[0];
  for (int r = 0; r < kRowsTogether; ++r) {
    if (ranges[r].empty()) return false;
    rows.of[r] = s.row(r);
    any = {std::min(any.begin, ranges[r].begin), std::max(any.end, ranges[r].end)};
  }
  T rises[static_cast<size_t>(kRowsTogether)];
  largest_scores(rows, ranges, by, rises);
  for (const T rise : rises) {
    if (rise <= std::numeric_limits<T>::lowest()) return false;
  }
  for (int r = 0; r < kRowsTogether; ++r) {
    state.seen[r] = true;
    state.factor[r] = T{1};
    rise_to(rises[r], state.largest[r], state.total[r], state.factor[r]);
  }
  exponentiate_rows(rows, ranges, by, state.largest, state.total);
  for (T* row : rows.of) clear_outside(any, s.cols(), row);
  return true;
}

template <class T>
void softmax_rows_of_tile(const AttendMask<T>& mask, T scale, const RowBlock& block,
                          const KeyRange* ranges, Index key0, Matrix<T> s,
                          const RunningSoftmax<T>& state, const KeptScores<T>& kept) {
  T* const no_slope = nullptr;
  const bool as_they_are = kept.data == nullptr && only_scales(mask);
  const T by = as_they_are ? scale : T{1};
  for (Index r = 0; r < s.rows(); ++r) {
    if (as_they_are && r + kRowsTogether <= s.rows() &&
        softmax_rows_together(s.row_block(r, kRowsTogether), ranges + r, by, state.from(r))) {
      r += kRowsTogether - 1;
      continue;
    }
    const KeyRange range = ranges[r];
    if (!as_they_are) {
      const Index head = block.head_of(r);
      const Index row = block.row_of(r);
      T* first = s.row(r) + range.begin;
      const Index count = range.end - range.begin;
      finish_scores(mask, scale, head, row, key0 + range.begin, first, count, no_slope);
      if (kept.data != nullptr) {
        T* to = kept.data + (head * kept.q_len + row) * kept.kv_rows + key0 + range.begin;
        std::copy(first, first + count, to);
      }
    }
    softmax_row_of_tile(s.row(r), s.cols(), range, by, state.largest[r], state.total[r],
                        state.factor[r], state.seen[r]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
