#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "nn/param_store.h"
#include "nn/pass.h"

namespace attn {

struct BlockPlace;

/// y = x W^T + b with W (out, in) and b (out), as torch.nn.Linear. Both start uniform within
/// 1/sqrt(in).
template <class T>
class Linear {
 public:
  /// Registers name.weight and, with a bias, name.bias. residual_additions: see InitRule.
  Linear(ParamStore<T>& store, const std::string& name, Index in, Index out, bool bias,
         Index residual_additions = 0);
  /// The map by a matrix that another layer owns: a tied head.
  explicit Linear(Param weight) : weight_(weight) {}

  Param weight() const { return weight_; }
  Index in() const { return weight_.cols; }
  Index out() const { return weight_.rows; }

  /// x (rows, in) -> (rows, out). Large products are cut into fixed blocks, which the pass's
  /// threads share; the blocks depend on the shapes alone.
  Matrix<T> forward(const Pass<T>& pass, In<T> x) const;
  /// What each of them (n is 2 or 3) makes of the same x, with the bits of forward: the blocks of
  /// all are shared at once, so that threads are woken and waited for once.
  template <std::size_t n>
  static std::array<Matrix<T>, n> forward_each(const Pass<T>& pass, In<T> x,
                                               const std::array<const Linear*, n>& linears);

  /// Adds to the gradients of weight and bias and, unless it is empty, to d_x (rows, in).
  /// x is what forward was given, d_y (rows, out).
  void backward(const BackwardPass<T>& pass, In<T> x, In<T> d_y, Matrix<T> d_x) const;
  /// The same where nothing else has a part in d_x, which is made here.
  Matrix<T> backward(const BackwardPass<T>& pass, In<T> x, In<T> d_y) const;

 private:
  void multiply_block(const Pass<T>& pass, In<T> x, const BlockPlace& at, Matrix<T> y) const;
  void add_parameter_gradients(const BackwardPass<T>& pass, In<T> x, In<T> d_y) const;

  Param weight_;
  std::optional<Param> bias_;
};

}  // namespace attn
