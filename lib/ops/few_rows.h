#pragma once

#include <type_traits>

#include "core/matrix.h"

namespace attn {

/// Up to so many rows of queries are worth reading keys as they lie, rather than turned.
inline constexpr Index kFewRows = 4;

/// s = a * b^T + start for few rows of a and many of b: (rows, k) by (n, k). start (n) is added to
/// every row; null: nothing. Two rows of a share one reading of b, which goes at the speed of
/// memory.
template <class T>
void multiply_few_rows(In<T> a, In<T> b, const std::type_identity_t<T>* start, Matrix<T> s);

}  // namespace attn
