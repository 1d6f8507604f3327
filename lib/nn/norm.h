#pragma once

#include <optional>
#include <string>

#include "nn/param_store.h"
#include "nn/pass.h"

namespace attn {

enum class NormType { kLayerNorm, kRmsNorm };

/// What backward needs of one norm.
template <class T>
struct NormTape {
  Matrix<const T> x;
  T* mean = nullptr;  // (rows), layer norm only
  T* rstd = nullptr;  // (rows)
};

/// Layer norm with weight and bias (or without), or RMS norm with weight; see ops/norm.h. Weights
/// start at 1, biases at 0.
template <class T>
class Norm {
 public:
  /// Registers name.weight and, in a layer norm with a bias, name.bias.
  Norm(ParamStore<T>& store, const std::string& name, Index dim, NormType type, double eps,
       bool bias = true);

  Param weight() const { return weight_; }

  /// x (rows, dim) -> (rows, dim); tape may be null.
  Matrix<T> forward(const Pass<T>& pass, In<T> x, NormTape<T>* tape) const;

  /// Adds to the parameters' gradients and to d_x (rows, dim).
  void backward(const BackwardPass<T>& pass, const NormTape<T>& tape, In<T> d_y,
                Matrix<T> d_x) const;

 private:
  NormType type_;
  T eps_;
  Param weight_;
  std::optional<Param> bias_;
};

}  // namespace attn
