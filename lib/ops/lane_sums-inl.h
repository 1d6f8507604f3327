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
// to = the sum of a vector's blocks of 128 bits + start, if there is one.
template <class V>
HWY_INLINE void store_block_sum(V v, const float* start, float* to) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) > 4) {
    const hn::Half<decltype(d)> half;
    store_block_sum(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), start, to);
  } else {
    hn::StoreU(start == nullptr ? v : hn::Add(v, hn::LoadU(d, start)), d, to);
  }
}
#endif

// to[i] = the sum of the lanes of vector i, + start[i] if there is a start. In float the four are
// added up side by side: a third of the shuffles of four single sums.
template <class T, class V>
HWY_INLINE void store_sums(V s0, V s1, V s2, V s3, const T* start, T* to) {
  const Tag<T> d;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, float>) {
    const hn::Repartition<double, decltype(d)> pairs;
    const auto s01 = hn::Add(hn::InterleaveLower(d, s0, s1), hn::InterleaveUpper(d, s0, s1));
    const auto s23 = hn::Add(hn::InterleaveLower(d, s2, s3), hn::InterleaveUpper(d, s2, s3));
    const auto low = hn::InterleaveLower(pairs, hn::BitCast(pairs, s01), hn::BitCast(pairs, s23));
    const auto high = hn::InterleaveUpper(pairs, hn::BitCast(pairs, s01), hn::BitCast(pairs, s23));
    store_block_sum(hn::Add(hn::BitCast(d, low), hn::BitCast(d, high)), start, to);
    return;
  }
#endif
  to[0] = hn::GetLane(hn::SumOfLanes(d, s0));
  to[1] = hn::GetLane(hn::SumOfLanes(d, s1));
  to[2] = hn::GetLane(hn::SumOfLanes(d, s2));
  to[3] = hn::GetLane(hn::SumOfLanes(d, s3));
  for (int i = 0; start != nullptr && i < 4; ++i) to[i] += start[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
