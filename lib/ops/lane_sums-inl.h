// Sums of the lanes of several vectors at once. Included once a target, from kernel files only.
#if defined(ATTNTOOLS_OPS_LANE_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_LANE_SUMS_INL_H
#undef ATTNTOOLS_OPS_LANE_SUMS_INL_H
#else
#define ATTNTOOLS_OPS_LANE_SUMS_INL_H
#endif

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// The sum of a vector's blocks of 128 bits.
template <class V>
HWY_INLINE void store_block_sum(V v, float* to) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) > 4) {
    const hn::Half<decltype(d)> half;
    store_block_sum(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  } else {
    hn::StoreU(v, d, to);
  }
}
#endif

// to[i] = the sum of the lanes of vector i. In float the four are added up side by side: a third of
// the shuffles of four single sums.
template <class T, class V>
HWY_INLINE void store_sums(V s0, V s1, V s2, V s3, T* to) {
  const Tag<T> d;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const hn::Repartition<double, decltype(d)> pairs;
    const auto s01 = hn::Add(hn::InterleaveLower(d, s0, s1), hn::InterleaveUpper(d, s0, s1));
    const auto s23 = hn::Add(hn::InterleaveLower(d, s2, s3), hn::InterleaveUpper(d, s2, s3));
    const auto low = hn::InterleaveLower(pairs, hn::BitCast(pairs, s01), hn::BitCast(pairs, s23));
    const auto high = hn::InterleaveUpper(pairs, hn::BitCast(pairs, s01), hn::BitCast(pairs, s23));
    store_block_sum(hn::Add(hn::BitCast(d, low), hn::BitCast(d, high)), to);
    return;
  }
#endif
  to[0] = hn::GetLane(hn::SumOfLanes(d, s0));
  to[1] = hn::GetLane(hn::SumOfLanes(d, s1));
  to[2] = hn::GetLane(hn::SumOfLanes(d, s2));
  to[3] = hn::GetLane(hn::SumOfLanes(d, s3));
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
