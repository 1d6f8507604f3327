#include "nn/norm.h"

#include "ops/norm.h"

namespace attn {

template <class T>
Norm<T>::Norm(ParamStore<T>& store, const std::string& name, Index dim, NormType type, double eps,
              bool bias)
    : type_(type),
      eps_(static_cast<T>(eps)),
      weight_(store.add(name + ".weight", {dim}, {Init::kOnes})) {
  if (bias && type == NormType::kLayerNorm)
    bias_ = store.add(name + ".bias", {dim}, {Init::kZeros});
}

template <class T>
Matrix<T> Norm<T>::forward(const Pass<T>& pass, In<T> x, NormTape<T>* tape) const {
  require_shape(x.cols() == weight_.cols, "norm: columns of x");
  Matrix<T> y = pass.arena().template matrix<T>(x.rows(), x.cols());
  T* mean = pass.arena().template allocate<T>(x.rows());
  T* rstd = pass.arena().template allocate<T>(x.rows());
  const T* weight = pass.values + weight_.offset;
  // Of one number, in multiplications.
  constexpr Index kNorm = 32;
  for_row_blocks(pass, x.rows(), kNorm * x.cols(), [&](Index row, Index count) {
    const Matrix<const T> from = x.row_block(row, count);
    const Matrix<T> to = y.row_block(row, count);
    if (type_ == NormType::kLayerNorm) {
      layer_norm<T>(from, weight, bias_ ? pass.values + bias_->offset : nullptr, eps_, to,
                    mean + row, rstd + row);
    } else {
      rms_norm<T>(from, weight, eps_, to, rstd + row);
    }
  });
  if (tape != nullptr) *tape = {x, mean, rstd};
  return y;
}

template <class T>
void Norm<T>::backward(const BackwardPass<T>& pass, const NormTape<T>& tape, In<T> d_y,
                       Matrix<T> d_x) const {
  const T* weight = pass.values + weight_.offset;
  T* d_weight = pass.gradients + weight_.offset;
  if (type_ == NormType::kLayerNorm) {
    layer_norm_backward<T>(tape.x, weight, tape.mean, tape.rstd, d_y, d_x, d_weight,
                           bias_ ? pass.gradients + bias_->offset : nullptr);
  } else {
    rms_norm_backward<T>(tape.x, weight, tape.rstd, d_y, d_x, d_weight);
  }
}

template class Norm<float>;
template class Norm<double>;

}  // namespace attn
