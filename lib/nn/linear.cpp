#include "nn/linear.h"

#include <algorithm>

#include "core/parallel.h"
#include "ops/few_rows.h"
#include "ops/gemm.h"
#include "ops/vector.h"

namespace attn {
namespace {

// Blocks, which threads share: of rows where there are so many that each thread finds enough, else
// of outputs, since each product copies its whole part of the matrix first. Few rows (decoding,
// where reading the matrix is the work) take small blocks, but not too small: where one ends,
// memory waits. A row's bits depend on its block, so these constants are part of the result and the
// number of threads is not.
constexpr Index kBlockRows = 256;
constexpr Index kManyRows = 4 * kBlockRows;
constexpr Index kBlockOutputs = 192;
constexpr Index kFewRowsOfX = 128;
constexpr Index kBlockNumbers = Index{1} << 14;
constexpr Index kLeastBlockOutputs = 64;

}  // namespace

// Rows and outputs of one block.
struct BlockPlace {
  Index row, rows;
  Index output, outputs;
};

namespace {

// A product's blocks.
struct Blocks {
  Index all_rows = 0, all_outputs = 0;
  Index rows = 0, outputs = 0;  // of each but the last
  Index count = 0;

  Blocks() = default;
  Blocks(Index rows_of_x, Index in, Index out)
      : all_rows(rows_of_x), all_outputs(out), rows(rows_of_x), outputs(out) {
    if (rows == 0) return;
    const bool small = in * out < 2 * kBlockNumbers;
    if (rows >= (small ? 2 * kBlockRows : kManyRows)) {
      rows = kBlockRows;
    } else if (!small) {
      outputs = rows > kFewRowsOfX ? kBlockOutputs
                                   : std::max(kLeastBlockOutputs, kBlockNumbers / in / 64 * 64);
    }
    // Cut in one direction only.
    count = (all_rows + rows - 1) / rows * ((all_outputs + outputs - 1) / outputs);
  }
  BlockPlace place(Index index) const {
    const Index row = rows < all_rows ? index * rows : 0;
    const Index output = rows < all_rows ? 0 : index * outputs;
    return {row, std::min(rows, all_rows - row), output, std::min(outputs, all_outputs - output)};
  }
};

}  // namespace

template <class T>
Linear<T>::Linear(ParamStore<T>& store, const std::string& name, Index in, Index out, bool bias,
                  Index residual_additions)
    : weight_(store.add(name + ".weight", {out, in}, {Init::kUniform, in, residual_additions})) {
  if (bias) bias_ = store.add(name + ".bias", {out}, {Init::kUniform, in});
}

template <class T>
Matrix<T> Linear<T>::forward(const Pass<T>& pass, In<T> x) const {
  return forward_each<1>(pass, x, {this})[0];
}

template <class T>
template <std::size_t n>
std::array<Matrix<T>, n> Linear<T>::forward_each(const Pass<T>& pass, In<T> x,
                                                 const std::array<const Linear*, n>& linears) {
  std::array<Matrix<T>, n> results;
  std::array<Blocks, n> blocks;
  Index count = 0;
  Index numbers = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Linear& one = *linears[i];
    require_shape(x.cols() == one.in(), "linear: columns of x");
    results[i] = pass.arena().template matrix<T>(x.rows(), one.out());
    blocks[i] = Blocks(x.rows(), one.in(), one.out());
    count += blocks[i].count;
    numbers += one.in() * one.out();
  }
  const int threads = pass.work.threads_for_product(x.rows(), numbers);
  const auto multiply = [&](Index index, int) {
    std::size_t i = 0;
    for (; index >= blocks[i].count; ++i) index -= blocks[i].count;
    linears[i]->multiply_block(pass, x, blocks[i].place(index), results[i]);
  };
  if (x.rows() <= kFewRows) {
    parallel_shares(count, threads, multiply);
  } else {
    parallel_for(count, threads, multiply);
  }
  return results;
}

// A block of y = x W^T + b.
template <class T>
void Linear<T>::multiply_block(const Pass<T>& pass, In<T> x, const BlockPlace& at,
                               Matrix<T> y) const {
  gemm_bias<T>(x.row_block(at.row, at.rows),
               weight_.in(pass.values).row_block(at.output, at.outputs),
               bias_ ? pass.values + bias_->offset + at.output : nullptr,
               y.row_block(at.row, at.rows).col_block(at.output, at.outputs));
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

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define ATTNTOOLS_INSTANTIATE(T)                                                                  \
  template class Linear<T>;                                                                       \
  template std::array<Matrix<T>, 2> Linear<T>::forward_each(const Pass<T>&, In<T>,                \
                                                            const std::array<const Linear*, 2>&); \
  template std::array<Matrix<T>, 3> Linear<T>::forward_each(const Pass<T>&, In<T>,                \
                                                            const std::array<const Linear*, 3>&)

// NOLINTEND(bugprone-macro-parentheses)

ATTNTOOLS_INSTANTIATE(float);
ATTNTOOLS_INSTANTIATE(double);

#undef ATTNTOOLS_INSTANTIATE

}  // namespace attn
