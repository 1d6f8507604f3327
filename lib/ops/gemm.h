#pragma once

#include <string>

#include "core/matrix.h"

namespace attn {

enum class Transpose { kNo, kYes };

/// c = alpha * op(a) * op(b) + beta * c; op transposes where asked. With beta 0, c is not read.
/// op(a) is (m, k), op(b) (k, n), c (m, n). One thread; T is float or double.
/// Throws ShapeError where the shapes disagree or an extent does not fit BLAS's int.
/// The bits of a row of the result depend on the rows it was computed with where b is large.
template <class T>
void gemm(Transpose transpose_a, Transpose transpose_b, std::type_identity_t<T> alpha, In<T> a,
          In<T> b, std::type_identity_t<T> beta, Matrix<T> c);

/// y = x * weight^T + bias, for every row of x: the same product. weight (out, in); bias (out), or
/// null for none.
template <class T>
void gemm_bias(In<T> x, In<T> weight, const std::type_identity_t<T>* bias, Matrix<T> y);

/// The kernels BLAS runs, for --version: "OpenBLAS 0.3.21 SkylakeX". Loads the library, as the
/// first product does.
std::string blas_description();

}  // namespace attn
