#pragma once

#include "core/matrix.h"

namespace attn {

/// A product for gemm, by kernels of our own.
template <class T>
struct PanelProduct {
  const T* a = nullptr;  // (i, l) at a[i * a_row_step + l * a_step], of (c.rows, k)
  Index a_row_step = 0;
  Index a_step = 0;
  Matrix<const T> b;  // (k, c.cols), or (c.cols, k) if turned
  bool b_turned = false;
  Matrix<const T> start;  // (c.rows, c.cols), or no data: zeros; may be c, or one row with stride 0
};

/// c = start + a * b. Each element is one sum in the order of k, whatever the extents: a row's bits
/// do not depend on the rows it was computed with.
template <class T>
void multiply_panels(const PanelProduct<T>& product, Matrix<T> c);

}  // namespace attn
