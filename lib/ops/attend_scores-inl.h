// What the mask makes of a row of products, for attend_softmax-inl.h and attend_rows-inl.h.
// Included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_SCORES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_SCORES_INL_H
#undef ATTNTOOLS_OPS_ATTEND_SCORES_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_SCORES_INL_H
#endif

#include "ops/attend_kernels.h"
#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

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

// True where the mask does nothing to a score but scale it.
template <class T>
HWY_INLINE bool only_scales(const AttendMask<T>& mask) {
  return mask.softcap == T{0} && mask.alibi_slopes == nullptr && mask.bias.data == nullptr &&
         mask.allowed.data == nullptr;
}

// Calls step(all, i, inside) for every vector that holds a lane of begin .. end - 1: `all` is
// std::true_type where all its lanes do, else `inside` says which. Scratch rows are whole vectors.
template <class T, class F>
HWY_INLINE void for_range(KeyRange range, const F& step) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const auto from = [=](Index lane) HWY_ATTR {
    return hn::FirstN(d, static_cast<size_t>(std::clamp<Index>(lane, 0, lanes)));
  };
  const auto edge = [&](Index i) HWY_ATTR {
    step(std::false_type(), i, hn::AndNot(from(range.begin - i), from(range.end - i)));
  };
  Index i = range.begin / lanes * lanes;
  if (i < range.begin) {
    edge(i);
    i += lanes;
  }
  for (; i + lanes <= range.end; i += lanes) step(std::true_type(), i, hn::FirstN(d, 0));
  if (i < range.end) edge(i);
}

// Zeros in the vectors of a row that hold nothing of a range.
template <class T>
HWY_INLINE void clear_outside(KeyRange range, Index keys, T* row) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const auto zero = hn::Zero(d);
  for (Index i = 0; i + lanes <= range.begin; i += lanes) hn::StoreU(zero, d, row + i);
  for (Index i = (range.end + lanes - 1) / lanes * lanes; i < keys; i += lanes) {
    hn::StoreU(zero, d, row + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
