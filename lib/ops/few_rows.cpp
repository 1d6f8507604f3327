#include "ops/few_rows.h"

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/few_rows.cpp"
#include <hwy/foreach_target.h>

#include "ops/lane_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Rows a (two, or one twice) by four rows of b.
template <bool kTwo, class T>
HWY_INLINE void four_sums(const T* a0, const T* a1, const T* b, Index stride, Index k,
                          const T* start, T* s0, T* s1) {
  const Tag<T> d;
  const T* b0 = b;
  const T* b1 = b + stride;
  const T* b2 = b + 2 * stride;
  const T* b3 = b + 3 * stride;
  auto s00 = hn::Zero(d), s01 = s00, s02 = s00, s03 = s00;
  auto s10 = s00, s11 = s00, s12 = s00, s13 = s00;
  for_vectors<T>(k, [&](auto whole, Index i, Index n) HWY_ATTR {
    constexpr bool kWhole = decltype(whole)::value;
    const auto v0 = load<kWhole>(b0 + i, n);
    const auto v1 = load<kWhole>(b1 + i, n);
    const auto v2 = load<kWhole>(b2 + i, n);
    const auto v3 = load<kWhole>(b3 + i, n);
    const auto first = load<kWhole>(a0 + i, n);
    s00 = hn::MulAdd(first, v0, s00);
    s01 = hn::MulAdd(first, v1, s01);
    s02 = hn::MulAdd(first, v2, s02);
    s03 = hn::MulAdd(first, v3, s03);
    if constexpr (kTwo) {
      const auto second = load<kWhole>(a1 + i, n);
      s10 = hn::MulAdd(second, v0, s10);
      s11 = hn::MulAdd(second, v1, s11);
      s12 = hn::MulAdd(second, v2, s12);
      s13 = hn::MulAdd(second, v3, s13);
    }
  });
  store_sums(s00, s01, s02, s03, start, s0);
  if constexpr (kTwo) store_sums(s10, s11, s12, s13, start, s1);
}

// One row by eight of b, each summed as by four: twice as many streams for the prefetchers, which
// brings weights from memory a third faster.
template <class T>
HWY_INLINE void eight_sums(const T* a, const T* b, Index stride, Index k, const T* start, T* s) {
  const Tag<T> d;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for_vectors<T>(k, [&](auto whole, Index i, Index n) HWY_ATTR {
    constexpr bool kWhole = decltype(whole)::value;
    const auto by = load<kWhole>(a + i, n);
    s0 = hn::MulAdd(by, load<kWhole>(b + i, n), s0);
    s1 = hn::MulAdd(by, load<kWhole>(b + stride + i, n), s1);
    s2 = hn::MulAdd(by, load<kWhole>(b + 2 * stride + i, n), s2);
    s3 = hn::MulAdd(by, load<kWhole>(b + 3 * stride + i, n), s3);
    s4 = hn::MulAdd(by, load<kWhole>(b + 4 * stride + i, n), s4);
    s5 = hn::MulAdd(by, load<kWhole>(b + 5 * stride + i, n), s5);
    s6 = hn::MulAdd(by, load<kWhole>(b + 6 * stride + i, n), s6);
    s7 = hn::MulAdd(by, load<kWhole>(b + 7 * stride + i, n), s7);
  });
  store_sums(s0, s1, s2, s3, start, s);
  store_sums(s4, s5, s6, s7, start == nullptr ? nullptr : start + 4, s + 4);
}

template <bool kTwo, class T>
HWY_INLINE void rows_by_all(const T* a0, const T* a1, Matrix<const T> b, const T* start, T* s0,
                            T* s1) {
  const auto start_of = [=](Index j) { return start == nullptr ? nullptr : start + j; };
  Index j = 0;
  if constexpr (!kTwo) {
    for (; j + 8 <= b.rows(); j += 8) {
      eight_sums(a0, b.row(j), b.stride(), b.cols(), start_of(j), s0 + j);
    }
  }
  for (; j + 4 <= b.rows(); j += 4) {
    four_sums<kTwo>(a0, a1, b.row(j), b.stride(), b.cols(), start_of(j), s0 + j, s1 + j);
  }
  const auto product = [](auto u, auto v) HWY_ATTR { return hn::Mul(u, v); };
  for (; j < b.rows(); ++j) {
    s0[j] = sum_over<T>(b.cols(), product, a0, b.row(j));
    if constexpr (kTwo) s1[j] = sum_over<T>(b.cols(), product, a1, b.row(j));
    if (start == nullptr) continue;
    s0[j] += start[j];
    if constexpr (kTwo) s1[j] += start[j];
  }
}

template <class T>
void all_rows_by_all(Matrix<const T> a, Matrix<const T> b, const T* start, Matrix<T> s) {
  Index r = 0;
  for (; r + 2 <= a.rows(); r += 2) {
    rows_by_all<true>(a.row(r), a.row(r + 1), b, start, s.row(r), s.row(r + 1));
  }
  if (r < a.rows()) rows_by_all<false>(a.row(r), a.row(r), b, start, s.row(r), s.row(r));
}

ATTNTOOLS_BOTH_TYPES(all_rows_by_all);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(all_rows_by_all);

}  // namespace

template <class T>
void multiply_few_rows(In<T> a, In<T> b, const std::type_identity_t<T>* start, Matrix<T> s) {
  ATTNTOOLS_DISPATCH(T, all_rows_by_all)(a, b, start, s);
}

template void multiply_few_rows<float>(In<float>, In<float>, const float*, Matrix<float>);
template void multiply_few_rows<double>(In<double>, In<double>, const double*, Matrix<double>);

}  // namespace attn
#endif  // HWY_ONCE
