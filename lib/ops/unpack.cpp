#include "ops/unpack.h"

#include <cstdint>
#include <cstring>

#include "core/dtype.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unpack.cpp"
#include <hwy/foreach_target.h>

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

// Of blocks of 32 in two halves: no wider than a half.
using Floats = hn::CappedTag<float, 16>;
using Ints = hn::Rebind<std::int32_t, Floats>;

// Calls step(i) for every whole vector of `count` numbers; returns where the rest begins.
template <class F>
HWY_INLINE Index for_whole_vectors(Index count, const F& step) {
  const auto lanes = static_cast<Index>(hn::Lanes(Floats()));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) step(i);
  return i;
}

HWY_INLINE std::uint16_t half_at(const std::byte* bytes) {
  std::uint16_t half = 0;
  std::memcpy(&half, bytes, sizeof half);
  return half;
}

// The words that `count` halves become, by `widen` in vectors and by `one` for the rest.
template <class Widen, class One>
HWY_INLINE void widen_halves(const std::byte* bytes, Index count, float* x, const Widen& widen,
                             const One& one) {
  const Floats d;
  const hn::Rebind<std::uint16_t, Floats> halves;
  const hn::Rebind<std::uint32_t, Floats> words;
  const auto* from = reinterpret_cast<const std::uint16_t*>(bytes);
  Index i = for_whole_vectors(count, [&](Index at) HWY_ATTR {
    hn::StoreU(widen(hn::PromoteTo(words, hn::LoadU(halves, from + at))), d, x + at);
  });
  for (; i < count; ++i) x[i] = one(half_at(bytes + 2 * i));
}

// By hand, since Highway's own promotion knows no infinity where it is emulated: exponent and
// fraction moved to their place, and 2^112 makes up for the exponents' different zeros, of
// subnormals too; what comes out above all halves was infinite or NaN.
void f16_numbers(const std::byte* bytes, Index count, float* x) {
  const Floats d;
  const hn::Rebind<std::uint32_t, Floats> words;
  const auto widen = [=](auto half) HWY_ATTR {
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(words, 0x8000U)));
    const auto rest = hn::ShiftLeft<13>(hn::And(half, hn::Set(words, 0x7fffU)));
    const auto number = hn::Mul(hn::BitCast(d, rest), hn::Set(d, 0x1p112F));
    const auto infinite = hn::Or(number, hn::BitCast(d, hn::Set(words, 0x7f800000U)));
    const auto size = hn::IfThenElse(hn::Ge(number, hn::Set(d, 65536.0F)), infinite, number);
    return hn::Or(size, hn::BitCast(d, sign));
  };
  widen_halves(bytes, count, x, widen, f16_to_float);
}

void bf16_numbers(const std::byte* bytes, Index count, float* x) {
  const auto widen = [](auto half)
                         HWY_ATTR { return hn::BitCast(Floats(), hn::ShiftLeft<16>(half)); };
  widen_halves(bytes, count, x, widen, bf16_to_float);
}

constexpr Index kBlock = 32;

void q8_numbers(const std::byte* bytes, Index count, float* x) {
  const Floats d;
  const Ints whole;
  const hn::Rebind<std::int8_t, Floats> small;
  for (Index first = 0; first < count; first += kBlock, bytes += 2 + kBlock) {
    const auto factor = hn::Set(d, f16_to_float(half_at(bytes)));
    const auto* from = reinterpret_cast<const std::int8_t*>(bytes + 2);
    for_whole_vectors(kBlock, [&](Index at) HWY_ATTR {
      const auto number = hn::ConvertTo(d, hn::PromoteTo(whole, hn::LoadU(small, from + at)));
      hn::StoreU(hn::Mul(factor, number), d, x + first + at);
    });
  }
}

void q4_numbers(const std::byte* bytes, Index count, float* x) {
  const Floats d;
  const Ints whole;
  const hn::Rebind<std::uint8_t, Floats> small;
  const auto eight = hn::Set(whole, 8);
  constexpr Index kHalf = kBlock / 2;
  for (Index first = 0; first < count; first += kBlock, bytes += 2 + kHalf) {
    const auto factor = hn::Set(d, f16_to_float(half_at(bytes)));
    const auto* from = reinterpret_cast<const std::uint8_t*>(bytes + 2);
    for_whole_vectors(kHalf, [&](Index at) HWY_ATTR {
      const auto both = hn::PromoteTo(whole, hn::LoadU(small, from + at));
      const auto low = hn::Sub(hn::And(both, hn::Set(whole, 15)), eight);
      const auto high = hn::Sub(hn::ShiftRight<4>(both), eight);
      float* to = x + first + at;
      hn::StoreU(hn::Mul(factor, hn::ConvertTo(d, low)), d, to);
      hn::StoreU(hn::Mul(factor, hn::ConvertTo(d, high)), d, to + kHalf);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

HWY_EXPORT(f16_numbers);
HWY_EXPORT(bf16_numbers);
HWY_EXPORT(q8_numbers);
HWY_EXPORT(q4_numbers);

}  // namespace

void unpack_f16(const std::byte* bytes, Index count, float* x) {
  HWY_DYNAMIC_DISPATCH(f16_numbers)(bytes, count, x);
}

void unpack_bf16(const std::byte* bytes, Index count, float* x) {
  HWY_DYNAMIC_DISPATCH(bf16_numbers)(bytes, count, x);
}

void unpack_q8_0(const std::byte* bytes, Index count, float* x) {
  HWY_DYNAMIC_DISPATCH(q8_numbers)(bytes, count, x);
}

void unpack_q4_0(const std::byte* bytes, Index count, float* x) {
  HWY_DYNAMIC_DISPATCH(q4_numbers)(bytes, count, x);
}

}  // namespace attn
#endif  // HWY_ONCE
