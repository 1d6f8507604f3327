#include "ops/dropout.h"

#include <algorithm>
#include <cmath>

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/dropout.cpp"
#include <hwy/foreach_target.h>

#include "ops/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

template <class T>
void drop_rows(const DropoutMask& mask, Matrix<T> x) {
  const RoundKeys keys(mask.key);
  for (Index r = 0; r < x.rows(); ++r) drop_columns(mask, keys, 0, r, 0, x.cols(), x.row(r));
}

ATTNTOOLS_BOTH_TYPES(drop_rows);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(drop_rows);

constexpr Index kCounters = 8;  // of a block of columns, four outputs each

}  // namespace

DropoutMask dropout_mask(double rate, std::uint64_t seed, Index step, Index layer, Index sequence) {
  require_shape(rate >= 0 && rate < 1, "dropout: a rate outside [0, 1)");
  constexpr double kWhole = 4294967296.0;  // 2^32
  DropoutMask mask;
  mask.threshold = static_cast<std::uint32_t>(std::min(std::round(rate * kWhole), kWhole - 1));
  mask.factor = 1 / (1 - rate);
  const auto drawn = Philox::block(
      {static_cast<std::uint32_t>(layer), static_cast<std::uint32_t>(sequence),
       static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(RandomPurpose::kDropout)},
      Philox::key_of(seed));
  mask.key = {drawn[0], drawn[1]};
  return mask;
}

bool is_dropped(const DropoutMask& mask, Index head, Index row, Index col) {
  const Index counter = col / (4 * kCounters) * kCounters + col % kCounters;
  const auto drawn = Philox::block(
      {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(row + mask.first_row),
       static_cast<std::uint32_t>(head), 0},
      mask.key);
  return drawn[static_cast<std::size_t>(col / kCounters % 4)] < mask.threshold;
}

template <class T>
void drop(const DropoutMask& mask, Matrix<T> x) {
  if (mask.on()) ATTNTOOLS_DISPATCH(T, drop_rows)(mask, x);
}

template void drop<float>(const DropoutMask&, Matrix<float>);
template void drop<double>(const DropoutMask&, Matrix<double>);

}  // namespace attn
#endif  // HWY_ONCE
