#pragma once

#include "core/matrix.h"

namespace attn {

/// Softmax of each row, in place, with the row's maximum taken off first. A row of minus
/// infinities becomes zeros. log_sum_exp (rows), where not null, receives each row's.
template <class T>
void softmax_rows(Matrix<T> x, T* log_sum_exp = nullptr);

}  // namespace attn
