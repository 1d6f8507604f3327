#pragma once

#include "core/index.h"

namespace attn {

/// The sum of a_c b_c, in this order.
inline double product(const double* a, const double* b, Index count) {
  double sum = 0;
  for (Index c = 0; c < count; ++c) sum += a[c] * b[c];
  return sum;
}

}  // namespace attn
