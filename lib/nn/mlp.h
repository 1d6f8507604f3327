#pragma once

#include <optional>
#include <string>

#include "nn/linear.h"

namespace attn {

/// What stands between the two matrices. kSwiglu has three: down(silu(gate(x)) * up(x)).
enum class MlpActivation { kGelu, kGeluTanh, kRelu, kSwiglu };

/// What backward needs of one MLP.
template <class T>
struct MlpTape {
  Matrix<const T> x;
  Matrix<const T> first;   // gate_proj's output, or of f its derivative at fc1's
  Matrix<const T> up;      // up_proj's output, SwiGLU only
  Matrix<const T> active;  // the last matrix's input
};

/// fc2(f(fc1(x))), or SwiGLU; works on each row by itself.
template <class T>
class Mlp {
 public:
  /// Registers name.fc1 and name.fc2, or name.gate_proj, name.up_proj and name.down_proj.
  /// residual_additions: see InitRule; of the last one.
  Mlp(ParamStore<T>& store, const std::string& name, Index dim, Index hidden,
      MlpActivation activation, bool bias, Index residual_additions = 0);

  /// x (rows, dim) -> (rows, dim); tape may be null.
  Matrix<T> forward(const Pass<T>& pass, In<T> x, MlpTape<T>* tape) const;

  /// Adds to the parameters' gradients and to d_x (rows, dim).
  void backward(const BackwardPass<T>& pass, const MlpTape<T>& tape, In<T> d_y,
                Matrix<T> d_x) const;

 private:
  MlpActivation activation_;
  Linear<T> first_;
  std::optional<Linear<T>> up_;
  Linear<T> last_;
};

}  // namespace attn
