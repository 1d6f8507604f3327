// Weights of scores with queries as lanes, for attend_queries-inl.h.
// Included once a target.
#if defined(ATTNTOOLS_OPS_QUERY_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_QUERY_WEIGHTS_INL_H
#undef ATTNTOOLS_OPS_QUERY_WEIGHTS_INL_H
#else
#define ATTNTOOLS_OPS_QUERY_WEIGHTS_INL_H
#endif

#include "ops/attend_patches-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Scores are taken in this unit, in which exp is the cheapest: of float, binary digits.
template <class T>
inline constexpr T kScoreUnit = std::is_same_v<T, float> ? T(1.44269504F) : T{1};

// c of 2^r = 1 + r (c0 + r (c1 + ...)) for |r| <= 1/2, interpolated at Chebyshev's nodes: 5.1e-9
// off at most, with roundings 0.6 units of the last place.
inline constexpr float kPowerOfTwo[] = {0.69314718F,   0.24022651F,   0.055503570F,
                                        0.0096180830F, 0.0013390863F, 0.00015453163F};

// Where x is NaN, so is what comes.
template <class V>
HWY_INLINE V at_least(V x, V least) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return hn::Max(least, x);  // of these instructions a NaN among the two gives the second
#else
  return hn::IfThenElse(hn::Lt(x, least), least, x);
#endif
}

// exp of kCount vectors of what is 0 at most, in kScoreUnit, or NaN, which stays one. Float:
// 2^t = 2^n 2^r; adding 1.5 * 2^23 + 127 rounds to n and leaves the bits of 2^n's exponent. Below
// 2^-126.5 it is 0. All take each step before the next one: what waits for its turn in a chain of
// steps keeps others from being seen.
template <int kCount, class V>
HWY_INLINE void exp_of_units(V (&x)[static_cast<size_t>(kCount)]) {
  const hn::DFromV<V> d;
  const auto each = [&](const auto& step) HWY_ATTR {
    for (int i = 0; i < kCount; ++i) step(i);
  };
  if constexpr (!std::is_same_v<hn::TFromV<V>, float>) {
    each([&](int i) HWY_ATTR { x[i] = exp_of(x[i]); });
  } else {
    const hn::RebindToSigned<decltype(d)> di;
    const V shifter = hn::Set(d, 12582912.0F + 127.0F);
    V power[static_cast<size_t>(kCount)], p[static_cast<size_t>(kCount)];
    each([&](int i) HWY_ATTR { x[i] = at_least(x[i], hn::Set(d, -127.0F)); });
    each([&](int i) HWY_ATTR { power[i] = hn::Add(x[i], shifter); });
    each([&](int i) HWY_ATTR { x[i] = hn::Sub(x[i], hn::Sub(power[i], shifter)); });
    each([&](int i)
             HWY_ATTR { power[i] = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, power[i]))); });
    each([&](int i) HWY_ATTR { p[i] = hn::Set(d, kPowerOfTwo[5]); });
    for (int c = 4; c >= 0; --c) {
      each([&](int i) HWY_ATTR { p[i] = hn::MulAdd(x[i], p[i], hn::Set(d, kPowerOfTwo[c])); });
    }
    each([&](int i) HWY_ATTR { x[i] = hn::MulAdd(hn::Mul(x[i], power[i]), p[i], power[i]); });
  }
}

// Scores of kKeys keys become weights in units of exp(shift), which are added to the total.
template <int kKeys, class T>
HWY_INLINE hn::Vec<Tag<T>> add_weights(T* s, Index stride, hn::Vec<Tag<T>> shift,
                                       hn::Vec<Tag<T>> total) {
  const Tag<T> d;
  hn::Vec<Tag<T>> weights[static_cast<size_t>(kKeys)];
  for (int i = 0; i < kKeys; ++i) weights[i] = hn::Sub(hn::LoadU(d, s + i * stride), shift);
  exp_of_units<kKeys>(weights);
  for (int i = 0; i < kKeys; ++i) {
    hn::StoreU(weights[i], d, s + i * stride);
    total = hn::Add(total, weights[i]);
  }
  return total;
}

template <class T>
void weights_of_patch(const LaneBlock<T>& block, const Patch& patch) {
  const Tag<T> d;
  const Index stride = block.scores.stride();
  for (Index v = patch.vector; v < patch.vector + patch.vectors; ++v) {
    const Index lane = v * lanes_of<T>();
    const auto shift = hn::LoadU(d, block.shift + lane);
    auto total = hn::LoadU(d, block.total + lane);
    T* s = block.scores.row(patch.keys.begin) + lane;
    Index left = patch.keys.end - patch.keys.begin;
    for (; left >= 4; left -= 4, s += 4 * stride) total = add_weights<4>(s, stride, shift, total);
    for (; left > 0; --left, s += stride) total = add_weights<1>(s, stride, shift, total);
    hn::StoreU(total, d, block.total + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
