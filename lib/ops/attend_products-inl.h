// Products of small tiles, and mixes of rows, for attend_kernels.cpp. Included once a target.
#if defined(ATTNTOOLS_OPS_ATTEND_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_ATTEND_PRODUCTS_INL_H
#undef ATTNTOOLS_OPS_ATTEND_PRODUCTS_INL_H
#else
#define ATTNTOOLS_OPS_ATTEND_PRODUCTS_INL_H
#endif

#include "ops/attend_kernels.h"
#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

inline constexpr Index kSmallKeys = 32;
inline constexpr Index kSmallDim = 64;

// Many rows against few keys: the keys are turned, so that a vector holds one feature of several
// keys and no sum runs across lanes. Four rows at a time hide the latency of the sums.
template <class T>
HWY_INLINE void products_turned(Matrix<const T> q, Matrix<const T> k, Matrix<T> s) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const Index dim = q.cols();
  const Index padded = (k.rows() + lanes - 1) / lanes * lanes;
  HWY_ALIGN T turned[kSmallKeys * kSmallDim];
  for (Index c = 0; c < dim; ++c) {
    T* to = turned + c * padded;
    for (Index j = 0; j < k.rows(); ++j) to[j] = k(j, c);
    for (Index j = k.rows(); j < padded; ++j) to[j] = T{0};
  }
  for (Index at = 0; at < padded; at += lanes) {
    Index r = 0;
    for (; r + 4 <= q.rows(); r += 4) {
      const T* q0 = q.row(r);
      const T* q1 = q.row(r + 1);
      const T* q2 = q.row(r + 2);
      const T* q3 = q.row(r + 3);
      auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      for (Index c = 0; c < dim; ++c) {
        const auto keys = hn::Load(d, turned + c * padded + at);
        s0 = hn::MulAdd(hn::Set(d, q0[c]), keys, s0);
        s1 = hn::MulAdd(hn::Set(d, q1[c]), keys, s1);
        s2 = hn::MulAdd(hn::Set(d, q2[c]), keys, s2);
        s3 = hn::MulAdd(hn::Set(d, q3[c]), keys, s3);
      }
      hn::StoreU(s0, d, s.row(r) + at);
      hn::StoreU(s1, d, s.row(r + 1) + at);
      hn::StoreU(s2, d, s.row(r + 2) + at);
      hn::StoreU(s3, d, s.row(r + 3) + at);
    }
    for (; r < q.rows(); ++r) {
      auto sum = hn::Zero(d);
      for (Index c = 0; c < dim; ++c) {
        sum = hn::MulAdd(hn::Set(d, q(r, c)), hn::Load(d, turned + c * padded + at), sum);
      }
      hn::StoreU(sum, d, s.row(r) + at);
    }
  }
}

// One row against many keys, four keys at a time: each key is read once, at memory speed.
template <class T>
HWY_INLINE void products_of_row(const T* q, Matrix<const T> k, T* s) {
  const Tag<T> d;
  const Index dim = k.cols();
  Index j = 0;
  for (; j + 4 <= k.rows(); j += 4) {
    const T* k0 = k.row(j);
    const T* k1 = k.row(j + 1);
    const T* k2 = k.row(j + 2);
    const T* k3 = k.row(j + 3);
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for_vectors<T>(dim, [&](auto whole, Index c, Index n) HWY_ATTR {
      constexpr bool kWhole = decltype(whole)::value;
      const auto part = load<kWhole>(q + c, n);
      s0 = hn::MulAdd(part, load<kWhole>(k0 + c, n), s0);
      s1 = hn::MulAdd(part, load<kWhole>(k1 + c, n), s1);
      s2 = hn::MulAdd(part, load<kWhole>(k2 + c, n), s2);
      s3 = hn::MulAdd(part, load<kWhole>(k3 + c, n), s3);
    });
    s[j] = hn::GetLane(hn::SumOfLanes(d, s0));
    s[j + 1] = hn::GetLane(hn::SumOfLanes(d, s1));
    s[j + 2] = hn::GetLane(hn::SumOfLanes(d, s2));
    s[j + 3] = hn::GetLane(hn::SumOfLanes(d, s3));
  }
  for (; j < k.rows(); ++j) {
    auto sum = hn::Zero(d);
    const T* key = k.row(j);
    for_vectors<T>(dim, [&](auto whole, Index c, Index n) HWY_ATTR {
      sum = hn::MulAdd(load<whole.value>(q + c, n), load<whole.value>(key + c, n), sum);
    });
    s[j] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

template <class T>
void products(Matrix<const T> q, Matrix<const T> k, Matrix<T> s) {
  if (q.rows() > 1 && k.rows() <= kSmallKeys && k.cols() <= kSmallDim) {
    products_turned(q, k, s);
    return;
  }
  for (Index r = 0; r < q.rows(); ++r) products_of_row(q.row(r), k, s.row(r));
}

// out[0 .. width) += sum over j of w[j * step] * x[j], kVectors vectors of features at a time,
// which stay in registers over all j.
template <int kVectors, bool kSkipZeros, class T>
HWY_INLINE void mix_features(const T* w, Index step, const T* x, Index stride, KeyRange range,
                             T* out) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  auto s0 = hn::LoadU(d, out), s1 = s0, s2 = s0, s3 = s0;
  if constexpr (kVectors == 4) {
    s1 = hn::LoadU(d, out + lanes);
    s2 = hn::LoadU(d, out + 2 * lanes);
    s3 = hn::LoadU(d, out + 3 * lanes);
  }
  for (Index j = range.begin; j < range.end; ++j) {
    const T weight = w[j * step];
    if (kSkipZeros && weight == T{0}) continue;
    const auto by = hn::Set(d, weight);
    const T* row = x + j * stride;
    s0 = hn::MulAdd(by, hn::LoadU(d, row), s0);
    if constexpr (kVectors == 4) {
      s1 = hn::MulAdd(by, hn::LoadU(d, row + lanes), s1);
      s2 = hn::MulAdd(by, hn::LoadU(d, row + 2 * lanes), s2);
      s3 = hn::MulAdd(by, hn::LoadU(d, row + 3 * lanes), s3);
    }
  }
  hn::StoreU(s0, d, out);
  if constexpr (kVectors == 4) {
    hn::StoreU(s1, d, out + lanes);
    hn::StoreU(s2, d, out + 2 * lanes);
    hn::StoreU(s3, d, out + 3 * lanes);
  }
}

template <bool kSkipZeros, class T>
HWY_INLINE void mix_row(const T* w, Index step, Matrix<const T> x, KeyRange range, T* out) {
  const Tag<T> d;
  const Index lanes = lanes_of<T>();
  const Index width = x.cols();
  Index at = 0;
  for (; at + 4 * lanes <= width; at += 4 * lanes) {
    mix_features<4, kSkipZeros>(w, step, x.data() + at, x.stride(), range, out + at);
  }
  for (; at + lanes <= width; at += lanes) {
    mix_features<1, kSkipZeros>(w, step, x.data() + at, x.stride(), range, out + at);
  }
  if (at == width) return;
  const Index rest = width - at;
  auto sum = load<false>(out + at, rest);
  for (Index j = range.begin; j < range.end; ++j) {
    const T weight = w[j * step];
    if (kSkipZeros && weight == T{0}) continue;
    sum = hn::MulAdd(hn::Set(d, weight), load<false>(x.row(j) + at, rest), sum);
  }
  store<false>(sum, out + at, rest);
}

template <class T>
void mix(const MixWeights<T>& weights, Matrix<const T> x, const KeyRange* ranges, Index key0,
         bool skip_zeros, Matrix<T> out) {
  for (Index r = 0; r < out.rows(); ++r) {
    KeyRange range{0, x.rows()};
    if (ranges != nullptr) {
      range.begin = std::max(range.begin, ranges[r].begin - key0);
      range.end = std::min(range.end, ranges[r].end - key0);
    }
    const T* w = weights.data + r * weights.row_step;
    if (skip_zeros) {
      mix_row<true>(w, weights.key_step, x, range, out.row(r));
    } else {
      mix_row<false>(w, weights.key_step, x, range, out.row(r));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
