#pragma once

#include "core/matrix.h"

namespace attn {

/// Up to so many rows of queries are worth reading keys as they lie, rather than turned.
inline constexpr Index kFewRows = 4;

/// s = a * b^T for few rows of a and many of b: (rows, k) by (n, k). Two rows of a share one
/// reading of b, which goes at the speed of memory.
template <class T>
void multiply_few_rows(In<T> a, In<T> b, Matrix<T> s);

}  // namespace attn
