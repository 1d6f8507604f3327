#include "ops/decode_kernels.h"

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/decode_kernels.cpp"
#include <hwy/foreach_target.h>

#include "ops/lane_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// One query of a head, or two that share its keys, by four keys.
template <bool kTwo, class T>
HWY_INLINE void four_scores(const T* q0, const T* q1, const T* const* k, Index at, Index head_dim,
                            T* s0, T* s1) {
  const Tag<T> d;
  auto s00 = hn::Zero(d), s01 = s00, s02 = s00, s03 = s00;
  auto s10 = s00, s11 = s00, s12 = s00, s13 = s00;
  for_vectors<T>(head_dim, [&](auto whole, Index i, Index n) HWY_ATTR {
    constexpr bool kWhole = decltype(whole)::value;
    const auto k0 = load<kWhole>(k[0] + at + i, n);
    const auto k1 = load<kWhole>(k[1] + at + i, n);
    const auto k2 = load<kWhole>(k[2] + at + i, n);
    const auto k3 = load<kWhole>(k[3] + at + i, n);
    const auto first = load<kWhole>(q0 + i, n);
    s00 = hn::MulAdd(first, k0, s00);
    s01 = hn::MulAdd(first, k1, s01);
    s02 = hn::MulAdd(first, k2, s02);
    s03 = hn::MulAdd(first, k3, s03);
    if constexpr (kTwo) {
      const auto second = load<kWhole>(q1 + i, n);
      s10 = hn::MulAdd(second, k0, s10);
      s11 = hn::MulAdd(second, k1, s11);
      s12 = hn::MulAdd(second, k2, s12);
      s13 = hn::MulAdd(second, k3, s13);
    }
  });
  store_sums<T>(s00, s01, s02, s03, nullptr, s0);
  if constexpr (kTwo) store_sums<T>(s10, s11, s12, s13, nullptr, s1);
}

template <class T>
void scores_of_row(const HeadShape& shape, const T* q, const T* const* k, Matrix<T> s) {
  const Index width = shape.head_dim;
  for (Index head = 0; head < shape.heads;) {
    const Index kv_head = head / shape.group();
    const T* query = q + head * width;
    const bool two = head + 1 < shape.heads && (head + 1) / shape.group() == kv_head;
    for (Index j = 0; j < s.cols(); j += kKeysAtOnce) {
      if (two) {
        four_scores<true>(query, query + width, k + j, kv_head * width, width, s.row(head) + j,
                          s.row(head + 1) + j);
      } else {
        four_scores<false>(query, query, k + j, kv_head * width, width, s.row(head) + j,
                           s.row(head) + j);
      }
    }
    head += two ? 2 : 1;
  }
}

// kVectorCount vectors of one head's output. kSums partial sums run side by side, for one waits
// four cycles for its last addition; key j goes to sum j % kSums.
template <int kVectorCount, int kSums, bool kWhole, class T>
HWY_INLINE void mix_vectors(const T* weights, Index keys, const T* const* v, Index at, Index rest,
                            T factor, T* out) {
  const Tag<T> d;
  const Index lanes = kWhole ? lanes_of<T>() : rest;
  hn::Vec<Tag<T>> sums[static_cast<size_t>(kSums)][static_cast<size_t>(kVectorCount)];
  for (int s = 0; s < kSums; ++s) {
    for (int i = 0; i < kVectorCount; ++i) sums[s][i] = hn::Zero(d);
  }
  const auto add = [&](Index j, int s) HWY_ATTR {
    const auto by = hn::Set(d, weights[j]);
    const T* row = v[j] + at;
    for (int i = 0; i < kVectorCount; ++i) {
      sums[s][i] = hn::MulAdd(by, load<kWhole>(row + i * lanes, lanes), sums[s][i]);
    }
  };
  Index j = 0;
  for (; j + kSums <= keys; j += kSums) {
    for (int s = 0; s < kSums; ++s) add(j + s, s);
  }
  for (int s = 0; s < kSums; ++s) {
    if (j + s < keys) add(j + s, s);
  }
  for (int half = kSums / 2; half > 0; half /= 2) {
    for (int s = 0; s < half; ++s) {
      for (int i = 0; i < kVectorCount; ++i) sums[s][i] = hn::Add(sums[s][i], sums[s + half][i]);
    }
  }
  const auto by = hn::Set(d, factor);
  for (int i = 0; i < kVectorCount; ++i) {
    T* to = out + i * lanes;
    store<kWhole>(hn::MulAdd(by, load<kWhole>(to, lanes), sums[0][i]), to, lanes);
  }
}

template <class T>
HWY_INLINE void mix_head(const T* weights, Index keys, const T* const* v, Index at, Index width,
                         T factor, T* out) {
  const Index lanes = lanes_of<T>();
  Index i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    mix_vectors<4, 2, true>(weights, keys, v, at + i, 0, factor, out + i);
  }
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    mix_vectors<2, 4, true>(weights, keys, v, at + i, 0, factor, out + i);
  }
  for (; i + lanes <= width; i += lanes) {
    mix_vectors<1, 8, true>(weights, keys, v, at + i, 0, factor, out + i);
  }
  if (i < width) mix_vectors<1, 8, false>(weights, keys, v, at + i, width - i, factor, out + i);
}

template <class T>
HWY_INLINE void mix_head_seen(const T* weights, Index keys, const T* const* v, Index at,
                              Index width, T factor, T* out) {
  const auto shrunk = hn::Set(Tag<T>(), factor);
  transform<T>(
      width, out, [=](auto sum) HWY_ATTR { return hn::Mul(shrunk, sum); }, out);
  for (Index j = 0; j < keys; ++j) {
    if (weights[j] == T{0}) continue;
    const auto by = hn::Set(Tag<T>(), weights[j]);
    transform<T>(
        width, out, [=](auto x, auto sum) HWY_ATTR { return hn::MulAdd(by, x, sum); }, v[j] + at,
        out);
  }
}

template <class T>
void mix_of_row(const HeadShape& shape, Matrix<const T> weights, const T* const* v,
                const T* factors, bool skip_hidden, T* out) {
  const Index width = shape.value_dim;
  for (Index head = 0; head < shape.heads; ++head) {
    const Index at = head / shape.group() * width;
    const T* row = weights.row(head);
    T* to = out + head * width;
    if (skip_hidden) {
      mix_head_seen(row, weights.cols(), v, at, width, factors[head], to);
    } else {
      mix_head(row, weights.cols(), v, at, width, factors[head], to);
    }
  }
}

ATTNTOOLS_BOTH_TYPES(scores_of_row);
ATTNTOOLS_BOTH_TYPES(mix_of_row);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(scores_of_row);
ATTNTOOLS_EXPORT(mix_of_row);

}  // namespace

template <class T>
void decode_scores(const HeadShape& shape, const T* q, const T* const* k, Matrix<T> s) {
  ATTNTOOLS_DISPATCH(T, scores_of_row)(shape, q, k, s);
}

template <class T>
void decode_mix(const HeadShape& shape, In<T> weights, const T* const* v, const T* factors,
                bool skip_hidden, T* out) {
  ATTNTOOLS_DISPATCH(T, mix_of_row)(shape, weights, v, factors, skip_hidden, out);
}

template void decode_scores<float>(const HeadShape&, const float*, const float* const*,
                                   Matrix<float>);
template void decode_scores<double>(const HeadShape&, const double*, const double* const*,
                                    Matrix<double>);
template void decode_mix<float>(const HeadShape&, In<float>, const float* const*, const float*,
                                bool, float*);
template void decode_mix<double>(const HeadShape&, In<double>, const double* const*, const double*,
                                 bool, double*);

}  // namespace attn
#endif  // HWY_ONCE
