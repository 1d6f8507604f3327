#include "check/posenc/posenc_phase.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/dtype.h"

namespace attn {

double rounded(double value, Rounding to, bool where) {
  if (!where) return value;
  const float single = static_cast<float>(value);
  switch (to) {
    case Rounding::kBf16:
      return static_cast<double>(bf16_to_float(float_to_bf16(single)));
    case Rounding::kBf16Cut: {
      constexpr std::uint32_t kKept = 0xFFFF0000U;
      return static_cast<double>(
          std::bit_cast<float>(std::bit_cast<std::uint32_t>(single) & kKept));
    }
    case Rounding::kF16:
      return static_cast<double>(f16_to_float(float_to_f16(single)));
    case Rounding::kNone:
      break;
  }
  return value;
}

double phase_limit(double largest_phase) {
  return 1e-6 + 0x1p-22 * largest_phase;
}

}  // namespace attn
