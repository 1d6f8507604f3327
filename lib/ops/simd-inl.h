// What the vector kernels share: loading the rest of a row, loops and sums over rows, and exp,
// the logistic function and the normal distribution on vectors. Included once for every target
// by Highway's foreach_target, hence the guard that toggles; include only from a kernel file.
#if defined(ATTNTOOLS_OPS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_SIMD_INL_H
#undef ATTNTOOLS_OPS_SIMD_INL_H
#else
#define ATTNTOOLS_OPS_SIMD_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/matrix.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;

template <class T>
HWY_INLINE Index lanes_of() {
  return static_cast<Index>(hn::Lanes(Tag<T>()));
}

// Masked loads that touch nothing beyond the mask exist from AVX2 on; elsewhere the rest of a row
// goes through a buffer.
#undef ATTNTOOLS_MASKED_MEMORY
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define ATTNTOOLS_MASKED_MEMORY 1
#else
#define ATTNTOOLS_MASKED_MEMORY 0
#endif

// A whole vector, or its first `count` lanes with zeros behind.
template <bool kWhole, class T>
HWY_INLINE hn::Vec<Tag<T>> load(const T* from, Index count) {
  const Tag<T> d;
  if constexpr (kWhole) {
    return hn::LoadU(d, from);
  } else {
#if ATTNTOOLS_MASKED_MEMORY
    return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
    HWY_ALIGN T buffer[hn::MaxLanes(Tag<T>())] = {};
    for (Index i = 0; i < count; ++i) buffer[i] = from[i];
    return hn::Load(d, buffer);
#endif
  }
}

template <bool kWhole, class T>
HWY_INLINE void store(hn::Vec<Tag<T>> v, T* to, Index count) {
  const Tag<T> d;
  if constexpr (kWhole) {
    hn::StoreU(v, d, to);
  } else {
#if ATTNTOOLS_MASKED_MEMORY
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
    HWY_ALIGN T buffer[hn::MaxLanes(Tag<T>())];
    hn::Store(v, d, buffer);
    for (Index i = 0; i < count; ++i) to[i] = buffer[i];
#endif
  }
}

// Calls step(whole, i, n) for every vector of a row of `count`: whole is std::true_type for all
// but the last n = count % lanes elements.
template <class T, class F>
HWY_INLINE void for_vectors(Index count, const F& step) {
  const Index lanes = lanes_of<T>();
  Index i = 0;
  for (; i + lanes <= count; i += lanes) step(std::true_type(), i, lanes);
  if (i < count) step(std::false_type(), i, count - i);
}

// y[i] = f(in[i]...). y may be one of the inputs.
template <class T, class F, class... In>
HWY_INLINE void transform(Index count, T* y, const F& f, const In*... in) {
  for_vectors<T>(count, [&](auto whole, Index i, Index n) HWY_ATTR {
    store<whole.value>(f(load<whole.value>(in + i, n)...), y + i, n);
  });
}

// The sum of f(in[i]...), two vectors at a time: the order depends on the count alone.
template <class T, class F, class... In>
HWY_INLINE T sum_over(Index count, const F& f, const In*... in) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  Index i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even = hn::Add(even, f(hn::LoadU(d, in + i)...));
    odd = hn::Add(odd, f(hn::LoadU(d, in + i + lanes)...));
  }
  if (i + lanes <= count) {
    even = hn::Add(even, f(hn::LoadU(d, in + i)...));
    i += lanes;
  }
  if (i < count) {
    const auto rest = hn::FirstN(d, static_cast<size_t>(count - i));
    odd = hn::Add(odd, hn::IfThenElseZero(rest, f(load<false>(in + i, count - i)...)));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

// The largest of a row; a NaN may be lost or win, which the caller must stand.
template <class T>
HWY_INLINE T max_over(Index count, const T* x) {
  const Tag<T> d;
  const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
  auto largest = lowest;
  for_vectors<T>(count, [&](auto whole, Index i, Index n) HWY_ATTR {
    auto v = load<whole.value>(x + i, n);
    if constexpr (!whole.value) {
      v = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(n)), v, lowest);
    }
    largest = hn::Max(largest, v);
  });
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// c0 + x (c1 + x (c2 + ...)).
template <class V>
HWY_INLINE V horner(V /*x*/, V last) {
  return last;
}
template <class V, class... Rest>
HWY_INLINE V horner(V x, V first, Rest... rest) {
  return hn::MulAdd(x, horner(x, rest...), first);
}

// Below it exp(x) is subnormal.
inline constexpr float kLeastExponent = -87.33654F;

// ln 2 in two parts, the first with so few digits that n times it is exact; and p of exp_of.
inline constexpr float kLn2High = 0.693359375F;
inline constexpr float kLn2Low = -2.12194440e-4F;
inline constexpr float kExpRest[] = {0.5F, 0.16666577F, 0.041666554F, 0.0083632329F, 0.0013926251F};

// 1 + r + r^2 p(r) of exp_of, for float.
template <class V>
HWY_INLINE V exp_of_rest(V x, V whole) {
  const hn::DFromV<V> d;
  V r = hn::NegMulAdd(whole, hn::Set(d, kLn2High), x);
  r = hn::NegMulAdd(whole, hn::Set(d, kLn2Low), r);
  const V p = horner(r, hn::Set(d, kExpRest[0]), hn::Set(d, kExpRest[1]), hn::Set(d, kExpRest[2]),
                     hn::Set(d, kExpRest[3]), hn::Set(d, kExpRest[4]));
  return hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), hn::Set(d, 1.0F));
}

// exp(x). Float: 2^n (1 + r + r^2 p(r)) with x = n ln 2 + r and p interpolated at Chebyshev's
// nodes (1e-8 off at most, so under 1 unit of rounding in all); below -87.3, where exp is
// subnormal, 0, and above 88 infinity. A NaN stays one.
template <class V>
HWY_INLINE V exp_of(V x) {
  const hn::DFromV<V> d;
  using T = hn::TFromV<V>;
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  if constexpr (std::is_same_v<T, double>) {
    const V y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 706.0)), infinity, hn::Exp(d, x));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  } else {
    const hn::RebindToSigned<decltype(d)> di;
    const auto n = hn::NearestInt(hn::Mul(x, hn::Set(d, 1.44269504F)));
    const V whole = hn::ConvertTo(d, n);
    const V mantissa = exp_of_rest(x, whole);
    const V power = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
    V y = hn::Mul(mantissa, power);
    y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.0F)), infinity, y);
    return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kLeastExponent)), y);
  }
}

// 1 / (1 + exp(-x)).
template <class V>
HWY_INLINE V sigmoid(V x) {
  const hn::DFromV<V> d;
  const V one = hn::Set(d, hn::TFromV<V>{1});
  return hn::Div(one, hn::Add(one, exp_of(hn::Neg(x))));
}

// The standard normal distribution at x: its density and Phi(x).
template <class V>
struct Normal {
  V density;
  V cdf;
};

// Float: the upper tail is density(a) * Mills' ratio(a), a = |x|, and the ratio a polynomial in
// t = 1 / (1 + a/4), t * P(t), interpolated at Chebyshev's nodes for a <= 14 (1.3e-8 off at
// most); beyond, the density is 0.
template <class V>
HWY_INLINE Normal<V> normal(V x) {
  const hn::DFromV<V> d;
  using T = hn::TFromV<V>;
  if constexpr (std::is_same_v<T, double>) {
    HWY_ALIGN double at[hn::MaxLanes(Tag<double>())];
    HWY_ALIGN double cdf[hn::MaxLanes(Tag<double>())];
    HWY_ALIGN double density[hn::MaxLanes(Tag<double>())];
    hn::Store(x, d, at);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
      cdf[i] = 0.5 * std::erfc(at[i] * -0.70710678118654752440);
      density[i] = std::exp(-0.5 * at[i] * at[i]) * 0.39894228040143267794;
    }
    return {hn::Load(d, density), hn::Load(d, cdf)};
  } else {
    const V one = hn::Set(d, 1.0F);
    const V a = hn::Abs(x);
    const V t = hn::Div(one, hn::MulAdd(a, hn::Set(d, 0.25F), one));
    const V density =
        hn::Mul(exp_of(hn::Mul(hn::Mul(a, a), hn::Set(d, -0.5F))), hn::Set(d, 0.39894228F));
    const V p =
        horner(t, hn::Set(d, 0.250040663F), hn::Set(d, 0.249200518F), hn::Set(d, 0.241014476F),
               hn::Set(d, 0.172986518F), hn::Set(d, 0.239071096F), hn::Set(d, -0.00921927692F),
               hn::Set(d, 0.121115474F), hn::Set(d, 0.0917808334F), hn::Set(d, -0.141237134F),
               hn::Set(d, 0.0385609751F));
    const V tail = hn::Mul(density, hn::Mul(t, p));
    return {density, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail))};
  }
}

// tanh(x), a NaN staying one.
template <class V>
HWY_INLINE V tanh_of(V x) {
  const hn::DFromV<V> d;
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
