#include "ops/gemm.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ops/few_rows.h"
#include "ops/gemm_blas.h"
#include "ops/gemm_panels.h"
#include "ops/vector.h"

namespace attn {
namespace {

blasint blas_int(Index value) {
  require_shape(value <= std::numeric_limits<blasint>::max(),
                "gemm: an extent or stride does not fit BLAS's int");
  return static_cast<blasint>(value);
}

// BLAS wants a leading dimension of at least the columns, and at least 1, even where there is
// but one row.
template <class T>
blasint leading(const Matrix<T>& x) {
  return blas_int(std::max({x.stride(), x.cols(), Index{1}}));
}

void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k, float alpha,
               const float* a, blasint lda, const float* b, blasint ldb, float beta, float* c,
               blasint ldc) {
  blas().sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
               double alpha, const double* a, blasint lda, const double* b, blasint ldb,
               double beta, double* c, blasint ldc) {
  blas().dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void call_blas_vector(CBLAS_TRANSPOSE t, blasint rows, blasint cols, float alpha, const float* a,
                      blasint lda, const float* x, blasint incx, float* y, blasint incy) {
  blas().sgemv(CblasRowMajor, t, rows, cols, alpha, a, lda, x, incx, 1.0F, y, incy);
}

void call_blas_vector(CBLAS_TRANSPOSE t, blasint rows, blasint cols, double alpha, const double* a,
                      blasint lda, const double* x, blasint incx, double* y, blasint incy) {
  blas().dgemv(CblasRowMajor, t, rows, cols, alpha, a, lda, x, incx, 1.0, y, incy);
}

// Numbers of b up to which our own kernels are at least as fast as OpenBLAS's, which copy both
// operands (at 64 columns they reach three quarters of their best, ours nine tenths).
constexpr Index kMostOfPanels = (Index{1} << 20) - 1;

bool takes_panels(Index n, Index k) {
  return n <= kMostOfPanels / k;
}

template <class T>
void scale_in_place(T beta, Matrix<T> c) {
  for (Index i = 0; i < c.rows(); ++i) {
    for (Index j = 0; j < c.cols(); ++j) c(i, j) = beta == T{0} ? T{0} : beta * c(i, j);
  }
}

}  // namespace

template <class T>
void gemm(Transpose transpose_a, Transpose transpose_b, std::type_identity_t<T> alpha, In<T> a,
          In<T> b, std::type_identity_t<T> beta, Matrix<T> c) {
  const bool flip_a = transpose_a == Transpose::kYes;
  const bool flip_b = transpose_b == Transpose::kYes;
  const Index m = flip_a ? a.cols() : a.rows();
  const Index k = flip_a ? a.rows() : a.cols();
  const Index n = flip_b ? b.rows() : b.cols();
  require_shape((flip_b ? b.cols() : b.rows()) == k, "gemm: the inner extents differ");
  require_shape(c.rows() == m && c.cols() == n, "gemm: the result has another shape");
  if (m == 0 || n == 0) return;
  if (k == 0) return scale_in_place(beta, c);
  const blasint lda = leading(a), ldb = leading(b), ldc = leading(c);
  const blasint blas_m = blas_int(m), blas_n = blas_int(n), blas_k = blas_int(k);
  // Decoding: all the work is reading b, and BLAS, if told gemm, copies it first.
  if (m <= kFewRows && !flip_a && flip_b && alpha == T{1} && beta == T{0}) {
    return multiply_few_rows<T>(a, b, nullptr, c);
  }
  if (m > 1 && alpha == T{1} && (beta == T{0} || beta == T{1}) && takes_panels(n, k)) {
    PanelProduct<T> product{a.data(), a.stride(), 1, b, flip_b, {}};
    if (flip_a) std::swap(product.a_row_step, product.a_step);
    if (beta == T{1}) product.start = c;
    return multiply_panels<T>(product, c);
  }
  if (m == 1) {
    // A row times a matrix: gemm would first copy the whole matrix, which takes five times as long
    // as reading it once.
    if (beta != T{1}) scale_in_place(beta, c);
    call_blas_vector(flip_b ? CblasNoTrans : CblasTrans, blas_int(b.rows()), blas_int(b.cols()),
                     alpha, b.data(), ldb, a.data(), flip_a ? lda : 1, c.data(), 1);
    return;
  }
  call_blas(flip_a ? CblasTrans : CblasNoTrans, flip_b ? CblasTrans : CblasNoTrans, blas_m, blas_n,
            blas_k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
}

template <class T>
void gemm_bias(In<T> x, In<T> weight, const std::type_identity_t<T>* bias, Matrix<T> y) {
  const Index n = weight.rows();
  const Index k = weight.cols();
  require_shape(x.cols() == k && y.rows() == x.rows() && y.cols() == n, "gemm_bias: the shapes");
  if (x.rows() <= kFewRows && k > 0) return multiply_few_rows<T>(x, weight, bias, y);
  if (bias != nullptr && k > 0 && takes_panels(n, k)) {
    const Matrix<const T> every_row(bias, x.rows(), n, 0);
    return multiply_panels<T>({x.data(), x.stride(), 1, weight, true, every_row}, y);
  }
  gemm<T>(Transpose::kNo, Transpose::kYes, T{1}, x, weight, T{0}, y);
  if (bias != nullptr) add_row<T>(bias, y);
}

template void gemm<float>(Transpose, Transpose, float, In<float>, In<float>, float, Matrix<float>);
template void gemm<double>(Transpose, Transpose, double, In<double>, In<double>, double,
                           Matrix<double>);

template void gemm_bias<float>(In<float>, In<float>, const float*, Matrix<float>);
template void gemm_bias<double>(In<double>, In<double>, const double*, Matrix<double>);

std::string blas_description() {
  return blas().description;
}

}  // namespace attn
