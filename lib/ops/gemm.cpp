#include "ops/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>

#include "ops/blas_core.h"
#include "ops/few_rows.h"

// OpenBLAS's own entries, weak so that another BLAS, or an OpenBLAS built for one core only,
// links as well.
extern "C" {
__attribute__((weak)) char* openblas_get_corename(void);
__attribute__((weak)) char* openblas_get_config(void);
__attribute__((weak)) void openblas_set_num_threads(int threads);
__attribute__((weak)) void gotoblas_dynamic_quit(void);
__attribute__((weak)) void gotoblas_dynamic_init(void);
}

namespace attn {
namespace {

constexpr const char* kCoreVariable = "OPENBLAS_CORETYPE";

// The library reads the variable when it initialises, and that was before main. Asking it to
// initialise again takes some 20 us and is safe as long as no product runs: hence once, before
// the first. The variable is taken back, so that no child mistakes it for a user's choice.
void choose_core() {
  if (openblas_get_corename == nullptr || gotoblas_dynamic_quit == nullptr ||
      gotoblas_dynamic_init == nullptr) {
    return;
  }
  BlasCoreFacts facts;
  facts.library_core = openblas_get_corename();
  facts.user_has_chosen = std::getenv(kCoreVariable) != nullptr;
  facts.avx512 = cpu_has_avx512();
  facts.avx2 = cpu_has_avx2();
  const std::string wanted(wanted_blas_core(facts));
  if (wanted.empty()) return;
  setenv(kCoreVariable, wanted.c_str(), 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kCoreVariable);
}

void blas_setup() {
  static std::once_flag once;
  std::call_once(once, [] {
    choose_core();
    // Left alone it spins threads of its own over tiny products and loses tenfold; all
    // parallelism is the program's.
    if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  });
}

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
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void call_blas(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
               double alpha, const double* a, blasint lda, const double* b, blasint ldb,
               double beta, double* c, blasint ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void call_blas_vector(CBLAS_TRANSPOSE t, blasint rows, blasint cols, float alpha, const float* a,
                      blasint lda, const float* x, blasint incx, float* y, blasint incy) {
  cblas_sgemv(CblasRowMajor, t, rows, cols, alpha, a, lda, x, incx, 1.0F, y, incy);
}

void call_blas_vector(CBLAS_TRANSPOSE t, blasint rows, blasint cols, double alpha, const double* a,
                      blasint lda, const double* x, blasint incx, double* y, blasint incy) {
  cblas_dgemv(CblasRowMajor, t, rows, cols, alpha, a, lda, x, incx, 1.0, y, incy);
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
  const blasint blas_m = blas_int(m), blas_n = blas_int(n), blas_k = blas_int(k);
  const blasint lda = leading(a), ldb = leading(b), ldc = leading(c);
  // Decoding: all the work is reading b, and BLAS, if told gemm, copies it first.
  if (m <= kFewRows && !flip_a && flip_b && alpha == T{1} && beta == T{0}) {
    return multiply_few_rows<T>(a, b, c);
  }
  blas_setup();
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

template void gemm<float>(Transpose, Transpose, float, In<float>, In<float>, float, Matrix<float>);
template void gemm<double>(Transpose, Transpose, double, In<double>, In<double>, double,
                           Matrix<double>);

std::string blas_description() {
  blas_setup();
  if (openblas_get_config == nullptr || openblas_get_corename == nullptr) return "BLAS";
  // The configuration begins "OpenBLAS 0.3.21 ..." and goes on with build options.
  const std::string config = openblas_get_config();
  const std::size_t name_end = config.find(' ');
  const std::size_t version_end =
      name_end == std::string::npos ? name_end : config.find(' ', name_end + 1);
  return config.substr(0, version_end) + " " + openblas_get_corename();
}

}  // namespace attn
