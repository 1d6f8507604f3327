#pragma once

#include "core/index.h"

namespace attn {

/// a / b, rounded up, for a of 0 or more and b of 1 or more; no sum on the way leaves 63 bits.
[[nodiscard]] constexpr Index ceil_div(Index a, Index b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace attn
