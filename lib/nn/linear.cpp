#include "nn/linear.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/gemm.h"
#include "ops/vector.h"

namespace attn {
namespace {

// Blocks, which threads share: of rows where there are so many that each thread finds enough, else
// of outputs, since each product copies its whole part of the matrix first. Few rows (decoding,
// where reading the matrix is the work) take small blocks. A row's bits depend on its block, so
// these constants are part of the result and the number of threads is not.
constexpr Index kBlockRows = 256;
constexpr Index kManyRows = 4 * kBlockRows;
constexpr Index kBlockOutputs = 192;
constexpr Index kFewRowsOfX = 128;
constexpr Index kBlockNumbers = Index{1} << 14;
constexpr Index kLeastBlockOutputs = 64;
// What reading a number of the matrix from memory costs, in multiplications.
constexpr Index kReading = 16;

}  // namespace

template <class T>
Linear<T>::Linear(ParamStore<T>& store, const std::string& name, Index in, Index out, bool bias,
                  Index residual_additions)
    : weight_(store.add(name + ".weight", {out, in}, {Init::kUniform, in, residual_additions})) {
  if (bias) bias_ = store.add(name + ".bias", {out}, {Init::kUniform, in});
}

template <class T>
Matrix<T> Linear<T>::forward(const Pass<T>& pass, In<T> x) const {
  require_shape(x.cols() == in(), "linear: columns of x");
  const Matrix<const T> weight = weight_.in(pass.values);
  Matrix<T> y = pass.arena().template matrix<T>(x.rows(), out());
  const auto block = [&](In<T> part, In<T> rows, Index first_output, Matrix<T> result) {
    const T* bias = bias_ ? pass.values + bias_->offset + first_output : nullptr;
    gemm_bias<T>(part, rows, bias, result);
  };
  const int threads = pass.work.threads_for(std::max(x.rows(), kReading) * weight.size());
  const bool small = weight.size() < 2 * kBlockNumbers;
  if (x.rows() >= (small ? 2 * kBlockRows : kManyRows)) {
    const Index blocks = (x.rows() + kBlockRows - 1) / kBlockRows;
    parallel_for(blocks, threads, [&](Index i, int) {
      const Index first = i * kBlockRows;
      const Index count = std::min(kBlockRows, x.rows() - first);
      block(x.row_block(first, count), weight, 0, y.row_block(first, count));
    });
  } else if (!small) {
    const Index outputs = x.rows() > kFewRowsOfX
                              ? kBlockOutputs
                              : std::max(kLeastBlockOutputs, kBlockNumbers / in() / 64 * 64);
    const Index blocks = (out() + outputs - 1) / outputs;
    parallel_shares(blocks, threads, [&](Index i, int) {
      const Index first = i * outputs;
      const Index count = std::min(outputs, out() - first);
      block(x, weight.row_block(first, count), first, y.col_block(first, count));
    });
  } else {
    block(x, weight, 0, y);
  }
  return y;
}

template <class T>
void Linear<T>::add_parameter_gradients(const BackwardPass<T>& pass, In<T> x, In<T> d_y) const {
  require_shape(d_y.rows() == x.rows() && d_y.cols() == out(), "linear backward: shape of d_y");
  // y = x W^T + b
  if (bias_) add_column_sums<T>(d_y, pass.gradients + bias_->offset);
  gemm<T>(Transpose::kYes, Transpose::kNo, T{1}, d_y, x, T{1}, weight_.in(pass.gradients));
}

template <class T>
void Linear<T>::backward(const BackwardPass<T>& pass, In<T> x, In<T> d_y, Matrix<T> d_x) const {
  add_parameter_gradients(pass, x, d_y);
  if (!d_x.empty()) {
    gemm<T>(Transpose::kNo, Transpose::kNo, T{1}, d_y, weight_.in(pass.values), T{1}, d_x);
  }
}

template <class T>
Matrix<T> Linear<T>::backward(const BackwardPass<T>& pass, In<T> x, In<T> d_y) const {
  add_parameter_gradients(pass, x, d_y);
  Matrix<T> d_x = pass.arena.template matrix<T>(x.rows(), in());
  gemm<T>(Transpose::kNo, Transpose::kNo, T{1}, d_y, weight_.in(pass.values), T{0}, d_x);
  return d_x;
}

template class Linear<float>;
template class Linear<double>;

}  // namespace attn
