#pragma once

#include "core/matrix.h"

namespace attn {

/// Numerical rank: how many rows are independent of each other. Rows are taken in order of what is
/// left of them after those taken before (Gram and Schmidt, with pivoting), until nothing is left
/// that is larger than `tolerance` of the largest row.
Index matrix_rank(Matrix<const double> matrix, double tolerance = 1e-9);

}  // namespace attn
