// The random bits of dropout, on vectors, for dropout.cpp and attend_kernels.cpp. Included once a
// target.
#if defined(ATTNTOOLS_OPS_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTNTOOLS_OPS_DROPOUT_INL_H
#undef ATTNTOOLS_OPS_DROPOUT_INL_H
#else
#define ATTNTOOLS_OPS_DROPOUT_INL_H
#endif

#include <algorithm>

#include "core/rng.h"
#include "ops/dropout.h"
#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Philox's key in each of its rounds.
struct RoundKeys {
  std::uint64_t first[Philox::kRounds];
  std::uint64_t second[Philox::kRounds];

  explicit RoundKeys(std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < Philox::kRounds; ++round) {
      first[round] = key[0];
      second[round] = key[1];
      key[0] += Philox::kWeyl0;
      key[1] += Philox::kWeyl1;
    }
  }
};

// The products of the lower halves of x with a multiplier.
template <class D>
HWY_INLINE hn::Vec<D> lower_product([[maybe_unused]] D d, hn::Vec<D> x, std::uint32_t multiplier) {
#if HWY_TARGET == HWY_SCALAR
  const auto lower = hn::And(x, hn::Set(d, std::uint64_t{0xffffffff}));
  return hn::Mul(lower, hn::Set(d, std::uint64_t{multiplier}));
#else
  const hn::Repartition<std::uint32_t, D> halves;
  return hn::MulEven(hn::BitCast(halves, x), hn::Set(halves, multiplier));
#endif
}

// Columns that one call of draw_columns serves: eight counters of four outputs.
constexpr Index kDropoutColumns = 32;

// The bits of columns 32 block .. 32 block + 31. A counter is one lane of 64 bits, of which the
// upper 32 hold rubbish: a product reads the lower half alone and gives both halves of its own.
HWY_INLINE void draw_columns(const RoundKeys& keys, Index head, Index row, Index block,
                             std::uint32_t* bits) {
  constexpr Index kCounters = 8;
  const hn::CappedTag<std::uint64_t, kCounters> d;
  const hn::Rebind<std::uint32_t, decltype(d)> narrow;
  for (Index i = 0; i < kCounters; i += static_cast<Index>(hn::Lanes(d))) {
    // The ramp is a constant, the sum is not: Highway builds a ramp from elsewhere lane by lane.
    auto x0 = hn::Add(hn::Iota(d, std::uint64_t{0}),
                      hn::Set(d, static_cast<std::uint64_t>(block * kCounters + i)));
    auto x1 = hn::Set(d, static_cast<std::uint64_t>(row));
    auto x2 = hn::Set(d, static_cast<std::uint64_t>(head));
    auto x3 = hn::Zero(d);
    for (int round = 0; round < Philox::kRounds; ++round) {
      const auto product0 = lower_product(d, x0, Philox::kMultiplier0);
      const auto product1 = lower_product(d, x2, Philox::kMultiplier1);
      const auto key0 = hn::Set(d, keys.first[round]);
      const auto key1 = hn::Set(d, keys.second[round]);
      x0 = hn::Xor(hn::ShiftRight<32>(product1), hn::Xor(x1, key0));
      x1 = product1;
      x2 = hn::Xor(hn::ShiftRight<32>(product0), hn::Xor(x3, key1));
      x3 = product0;
    }
    hn::StoreU(hn::TruncateTo(narrow, x0), narrow, bits + i);
    hn::StoreU(hn::TruncateTo(narrow, x1), narrow, bits + kCounters + i);
    hn::StoreU(hn::TruncateTo(narrow, x2), narrow, bits + 2 * kCounters + i);
    hn::StoreU(hn::TruncateTo(narrow, x3), narrow, bits + 3 * kCounters + i);
  }
}

// Which of the numbers beside these bits are below the threshold.
template <class T>
HWY_INLINE auto below(const std::uint32_t* bits, std::uint32_t threshold) {
  const Tag<T> d;
  const hn::RebindToUnsigned<decltype(d)> wide;
  if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
    return hn::RebindMask(d, hn::Lt(hn::LoadU(wide, bits), hn::Set(wide, threshold)));
  } else {
    const hn::RebindToSigned<decltype(d)> whole;  // 32 bits are positive in 64
    const hn::Rebind<std::uint32_t, decltype(d)> narrow;
    const auto promoted = hn::BitCast(whole, hn::PromoteTo(wide, hn::LoadU(narrow, bits)));
    return hn::RebindMask(d, hn::Lt(promoted, hn::Set(whole, std::int64_t{threshold})));
  }
}

// Hides and scales x[0 .. count), whose first stands in column col of row `row` of the mask's.
// Bits of several blocks are drawn before the first is used: they are stored in vectors of another
// width than they are loaded in, and a load that waits for two stores is slow.
template <class T>
HWY_INLINE void drop_columns(const DropoutMask& mask, const RoundKeys& keys, Index head, Index row,
                             Index col, Index count, T* x) {
  constexpr Index kBlocks = 4;
  HWY_ALIGN std::uint32_t bits[kBlocks * kDropoutColumns + hn::MaxLanes(Tag<float>())];
  const auto factor = hn::Set(Tag<T>(), static_cast<T>(mask.factor));
  for (Index at = col; at < col + count;) {
    const Index first = at / kDropoutColumns;
    const Index end = std::min(col + count, (first + kBlocks) * kDropoutColumns);
    for (Index block = first; block * kDropoutColumns < end; ++block) {
      draw_columns(keys, head, row + mask.first_row, block,
                   bits + (block - first) * kDropoutColumns);
    }
    const std::uint32_t* drawn = bits + (at - first * kDropoutColumns);
    T* y = x + (at - col);
    for_vectors<T>(end - at, [&](auto whole, Index i, Index n) HWY_ATTR {
      const auto kept = hn::Mul(load<whole.value>(y + i, n), factor);
      store<whole.value>(hn::IfThenZeroElse(below<T>(drawn + i, mask.threshold), kept), y + i, n);
    });
    at = end;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#endif
