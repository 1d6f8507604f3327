// Softmax over a tile of scores, forward and backward, for attend_kernels.cpp. Included once a
// target.
#if defined(ATTNTOOLS_OPS_ATTEND_SOFTMAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_SOFTMAX_INL_H
#undef ATTNTOOLS_OPS_ATTEND_SOFTMAX_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_SOFTMAX_INL_H
#endif

#include "ops/attend_kernels.h"
#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

// The part of a row's visible keys that lies in a tile, counted from the tile's first key.
HWY_INLINE KeyRange in_tile(KeyRange visible, Index key0, Index keys) {
  const Index begin = std::clamp<Index>(visible.begin - key0, 0, keys);
  return {begin, std::clamp<Index>(visible.end - key0, begin, keys)};
}

// Products s[0 .. count) of one row become final scores, in the order of AttendMask; the first is
// that of key `key`. Where `slope` is not null it receives 1 - tanh^2, the softcap's derivative.
template <class T>
HWY_INLINE void finish_scores(const AttendMask<T>& mask, T scale, Index head, Index row, Index key,
                              T* s, Index count, T* slope) {
  const Tag<T> d;
  const auto by = hn::Set(d, scale);
  if (mask.softcap == T{0}) {
    transform<T>(
        count, s, [=](auto v) HWY_ATTR { return hn::Mul(v, by); }, s);
  } else {
    const auto inverse = hn::Set(d, scale / mask.softcap);
    const auto cap = hn::Set(d, mask.softcap);
    const auto one = hn::Set(d, T{1});
    transform<T>(
        count, s, [=](auto v) HWY_ATTR { return tanh_of(hn::Mul(v, inverse)); }, s);
    if (slope != nullptr) {
      transform<T>(
          count, slope, [=](auto t) HWY_ATTR { return hn::NegMulAdd(t, t, one); }, s);
    }
    transform<T>(
        count, s, [=](auto t) HWY_ATTR { return hn::Mul(cap, t); }, s);
  }
  if (mask.alibi_slopes != nullptr) {
    const auto falls = hn::Set(d, mask.alibi_slopes[head]);
    const Index ahead = row + mask.offset - key;  // of the row's position over the first key
    for_vectors<T>(count, [&](auto whole, Index i, Index n) HWY_ATTR {
      const auto distance =
          hn::Abs(hn::Sub(hn::Set(d, static_cast<T>(ahead - i)), hn::Iota(d, T{0})));
      store<whole.value>(hn::NegMulAdd(falls, distance, load<whole.value>(s + i, n)), s + i, n);
    });
  }
  // Hidden last and by replacement: a hidden key's product may be NaN.
  if (mask.bias.data != nullptr) {
    for (Index j = 0; j < count; ++j) {
      const T bias = mask.bias.at(head, row, key + j);
      s[j] = bias == kHidden<T> ? bias : s[j] + bias;
    }
  }
  if (mask.allowed.data != nullptr) {
    for (Index j = 0; j < count; ++j) {
      if (mask.allowed.at(head, row, key + j) == 0) s[j] = kHidden<T>;
    }
  }
}

template <class T>
HWY_INLINE bool all_hidden(const T* s, Index count) {
  return std::all_of(s, s + count, [](T x) { return x == kHidden<T>; });
}

template <class T>
HWY_INLINE void softmax_row_of_tile(T* s, Index keys, KeyRange range, T& largest, T& total,
                                    T& factor, bool& seen) {
  const Tag<T> d;
  const Index count = range.end - range.begin;
  T* first = s + range.begin;
  factor = T{1};
  const T rise = max_over(count, first);
  if (rise == kHidden<T> && all_hidden(first, count)) {
    std::fill(s, s + keys, T{0});
    return;
  }
  seen = true;
  if (!(rise <= largest)) {
    if (largest != kHidden<T>) factor = std::exp(largest - rise);
    total = largest == kHidden<T> ? T{0} : total * factor;
    largest = rise;
  }
  const auto shift = hn::Set(d, largest);
  auto sum = hn::Zero(d);
  for_vectors<T>(count, [&](auto whole, Index i, Index n) HWY_ATTR {
    auto weight = exp_of(hn::Sub(load<whole.value>(first + i, n), shift));
    if constexpr (!whole.value) {
      weight = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n)), weight);
    }
    store<whole.value>(weight, first + i, n);
    sum = hn::Add(sum, weight);
  });
  total += hn::GetLane(hn::SumOfLanes(d, sum));
  std::fill(s, first, T{0});
  std::fill(first + count, s + keys, T{0});
}

template <class T>
void softmax_rows_of_tile(const AttendMask<T>& mask, T scale, const RowBlock& block,
                          const KeyRange* visible, Index key0, Matrix<T> s,
                          const RunningSoftmax<T>& state, const KeptScores<T>& kept) {
  T* const no_slope = nullptr;
  for (Index r = 0; r < s.rows(); ++r) {
    const KeyRange range = in_tile(visible[r], key0, s.cols());
    const Index head = block.head_of(r);
    const Index row = block.row_of(r);
    T* first = s.row(r) + range.begin;
    const Index count = range.end - range.begin;
    finish_scores(mask, scale, head, row, key0 + range.begin, first, count, no_slope);
    if (kept.data != nullptr) {
      T* to = kept.data + (head * kept.q_len + row) * kept.kv_rows + key0 + range.begin;
      std::copy(first, first + count, to);
    }
    softmax_row_of_tile(s.row(r), s.cols(), range, state.largest[r], state.total[r],
                        state.factor[r], state.seen[r]);
  }
}

template <class T>
void softmax_backward_rows_of_tile(const AttendMask<T>& mask, T scale, const RowBlock& block,
                                   const KeyRange* visible, Index key0, Matrix<T> s,
                                   Matrix<T> d_weights, const T* lse, const T* common) {
  const Tag<T> d;
  HWY_ALIGN T slopes[256];
  for (Index r = 0; r < s.rows(); ++r) {
    KeyRange range = in_tile(visible[r], key0, s.cols());
    if (lse[r] == kHidden<T>) range.end = range.begin;
    T* weights = s.row(r);
    T* gradients = d_weights.row(r);
    std::fill(weights, weights + range.begin, T{0});
    std::fill(gradients, gradients + range.begin, T{0});
    std::fill(weights + range.end, weights + s.cols(), T{0});
    std::fill(gradients + range.end, gradients + s.cols(), T{0});
    const auto shift = hn::Set(d, lse[r]);
    const auto mean = hn::Set(d, common[r]);
    const auto by = hn::Set(d, scale);
    // By parts, so that the softcap's slopes fit a small buffer.
    for (Index at = range.begin; at < range.end; at += 256) {
      const Index count = std::min<Index>(256, range.end - at);
      T* slope = mask.softcap == T{0} ? nullptr : slopes;
      finish_scores(mask, scale, block.head_of(r), block.row_of(r), key0 + at, weights + at, count,
                    slope);
      for_vectors<T>(count, [&](auto whole, Index i, Index n) HWY_ATTR {
        constexpr bool kWhole = decltype(whole)::value;
        const auto weight = exp_of(hn::Sub(load<kWhole>(weights + at + i, n), shift));
        store<kWhole>(weight, weights + at + i, n);
        auto gradient = hn::Mul(weight, hn::Sub(load<kWhole>(gradients + at + i, n), mean));
        gradient = hn::Mul(gradient, by);
        if (slope != nullptr) gradient = hn::Mul(gradient, load<kWhole>(slope + i, n));
        // 0 * NaN of a hidden key must be 0.
        gradient = hn::IfThenZeroElse(hn::Eq(weight, hn::Zero(d)), gradient);
        store<kWhole>(gradient, gradients + at + i, n);
      });
    }
  }
}

template <class T>
void scale_rows(const T* factors, Matrix<T> x) {
  for (Index r = 0; r < x.rows(); ++r) {
    if (factors[r] == T{1}) continue;
    const auto by = hn::Set(Tag<T>(), factors[r]);
    transform<T>(
        x.cols(), x.row(r), [=](auto v) HWY_ATTR { return hn::Mul(v, by); }, x.row(r));
  }
}

template <class T>
void weights_row(const T* scores, Index count, T lse, T* weights) {
  if (lse == kHidden<T>) {
    std::fill(weights, weights + count, T{0});
    return;
  }
  const auto shift = hn::Set(Tag<T>(), lse);
  transform<T>(
      count, weights, [=](auto v) HWY_ATTR { return exp_of(hn::Sub(v, shift)); }, scores);
}

template <class T>
void dots_of_rows(Matrix<const T> a, Matrix<const T> b, T* dots) {
  for (Index r = 0; r < a.rows(); ++r) {
    dots[r] = sum_over<T>(
        a.cols(), [](auto u, auto v) HWY_ATTR { return hn::Mul(u, v); }, a.row(r), b.row(r));
  }
}

template <class T>
bool finite(Matrix<const T> x) {
  const Tag<T> d;
  // 0 times anything finite adds 0, times anything else a NaN that stays.
  auto sum = hn::Zero(d);
  for (Index r = 0; r < x.rows(); ++r) {
    const T* row = x.row(r);
    for_vectors<T>(x.cols(), [&](auto whole, Index i, Index n) HWY_ATTR {
      sum = hn::MulAdd(load<whole.value>(row + i, n), hn::Zero(d), sum);
    });
  }
  return hn::GetLane(hn::SumOfLanes(d, sum)) == T{0};
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
