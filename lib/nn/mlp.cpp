#include "nn/mlp.h"

#include "ops/activation.h"
#include "ops/vector.h"

namespace attn {
namespace {

Activation elementwise(MlpActivation activation) {
  switch (activation) {
    case MlpActivation::kGelu:
      return Activation::kGelu;
    case MlpActivation::kGeluTanh:
      return Activation::kGeluTanh;
    case MlpActivation::kRelu:
      return Activation::kRelu;
    case MlpActivation::kSwiglu:
      break;
  }
  return Activation::kSilu;
}

}  // namespace

template <class T>
Mlp<T>::Mlp(ParamStore<T>& store, const std::string& name, Index dim, Index hidden,
            MlpActivation activation, bool bias, Index residual_additions)
    : activation_(activation),
      first_(store, name + (activation == MlpActivation::kSwiglu ? ".gate_proj" : ".fc1"), dim,
             hidden, bias),
      up_(activation == MlpActivation::kSwiglu
              ? std::optional<Linear<T>>(std::in_place, store, name + ".up_proj", dim, hidden, bias)
              : std::nullopt),
      last_(store, name + (activation == MlpActivation::kSwiglu ? ".down_proj" : ".fc2"), hidden,
            dim, bias, residual_additions) {}

template <class T>
Matrix<T> Mlp<T>::forward(const Pass<T>& pass, In<T> x, MlpTape<T>* tape) const {
  // Of one number, in multiplications.
  constexpr Index kActivation = 32;
  Matrix<T> first;
  Matrix<T> up;
  if (up_) {
    const auto both = Linear<T>::template forward_each<2>(pass, x, {&first_, &*up_});
    first = both[0];
    up = both[1];
  } else {
    first = first_.forward(pass, x);
  }
  const Matrix<T> active = pass.arena().template matrix<T>(first.rows(), first.cols());
  for_row_blocks(pass, first.rows(), kActivation * first.cols(), [&](Index row, Index count) {
    const Matrix<T> from = first.row_block(row, count);
    const Matrix<T> to = active.row_block(row, count);
    if (up_) {
      swiglu<T>(from, up.row_block(row, count), to);
    } else if (tape != nullptr) {
      // The derivative shares most of the work, and backward needs nothing else of fc1's output.
      activate_with_slope<T>(elementwise(activation_), from, to, from);
    } else {
      activate<T>(elementwise(activation_), from, to);
    }
  });
  if (tape != nullptr) *tape = {x, first, up, active};
  return last_.forward(pass, active);
}

template <class T>
void Mlp<T>::backward(const BackwardPass<T>& pass, const MlpTape<T>& tape, In<T> d_y,
                      Matrix<T> d_x) const {
  const Arena::Scope scope(pass.arena);
  const Index rows = tape.first.rows();
  const Index hidden = tape.first.cols();
  // y = last(active)
  const Matrix<T> d_active = last_.backward(pass, tape.active, d_y);
  if (up_) {
    // active = silu(gate(x)) * up(x)
    Matrix<T> d_first = pass.arena.template zeros<T>(rows, hidden);
    Matrix<T> d_up = pass.arena.template zeros<T>(rows, hidden);
    swiglu_backward<T>(tape.first, tape.up, d_active, d_first, d_up);
    up_->backward(pass, tape.x, d_up, d_x);
    first_.backward(pass, tape.x, d_first, d_x);
  } else {
    // active = f(first(x))
    multiply_each<T>(tape.first, d_active);
    first_.backward(pass, tape.x, d_active, d_x);
  }
}

template class Mlp<float>;
template class Mlp<double>;

}  // namespace attn
