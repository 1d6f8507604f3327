#include "ops/activation.h"

#include <cmath>
#include <numbers>

namespace attn {
namespace {

template <class T>
constexpr T kSqrt2OverPi = static_cast<T>(0.79788456080286535588L);
template <class T>
constexpr T kCubic = static_cast<T>(0.044715L);

template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

// Phi(x), the standard normal's distribution function, and its density.
template <class T>
T normal_cdf(T x) {
  return T{0.5} * (T{1} + std::erf(x * (std::numbers::sqrt2_v<T> / T{2})));
}
template <class T>
T normal_density(T x) {
  return std::exp(T{-0.5} * x * x) * static_cast<T>(0.39894228040143267794L);
}

template <class T>
T value(Activation f, T x) {
  switch (f) {
    case Activation::kGelu:
      return x * normal_cdf(x);
    case Activation::kGeluTanh:
      return T{0.5} * x * (T{1} + std::tanh(kSqrt2OverPi<T> * (x + kCubic<T> * x * x * x)));
    case Activation::kRelu:
      return x < T{0} ? T{0} : x;
    case Activation::kSilu:
      return x * sigmoid(x);
  }
  return x;
}

template <class T>
T derivative(Activation f, T x) {
  switch (f) {
    case Activation::kGelu:
      return normal_cdf(x) + x * normal_density(x);
    case Activation::kGeluTanh: {
      const T t = std::tanh(kSqrt2OverPi<T> * (x + kCubic<T> * x * x * x));
      const T inner = kSqrt2OverPi<T> * (T{1} + T{3} * kCubic<T> * x * x);
      return T{0.5} * (T{1} + t) + T{0.5} * x * (T{1} - t * t) * inner;
    }
    case Activation::kRelu:
      return x > T{0} ? T{1} : T{0};
    case Activation::kSilu: {
      const T s = sigmoid(x);
      return s * (T{1} + x * (T{1} - s));
    }
  }
  return T{1};
}

template <class T>
void require_same(In<T> x, Matrix<T> y, const char* what) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), what);
}

}  // namespace

template <class T>
void activate(Activation f, In<T> x, Matrix<T> y) {
  require_same<T>(x, y, "activate: the shapes differ");
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) y(i, j) = value(f, x(i, j));
  }
}

template <class T>
void activate_backward(Activation f, In<T> x, In<T> d_y, Matrix<T> d_x) {
  require_same<T>(x, d_x, "activate_backward: the shapes differ");
  require_same<T>(d_y, d_x, "activate_backward: the shapes differ");
  for (Index i = 0; i < d_x.rows(); ++i) {
    for (Index j = 0; j < d_x.cols(); ++j) d_x(i, j) += derivative(f, x(i, j)) * d_y(i, j);
  }
}

template <class T>
void swiglu(In<T> gate, In<T> up, Matrix<T> y) {
  require_same<T>(gate, y, "swiglu: the shapes differ");
  require_same<T>(up, y, "swiglu: the shapes differ");
  for (Index i = 0; i < y.rows(); ++i) {
    for (Index j = 0; j < y.cols(); ++j) {
      y(i, j) = value(Activation::kSilu, gate(i, j)) * up(i, j);
    }
  }
}

template <class T>
void swiglu_backward(In<T> gate, In<T> up, In<T> d_y, Matrix<T> d_gate, Matrix<T> d_up) {
  require_same<T>(gate, d_gate, "swiglu_backward: the shapes differ");
  require_same<T>(up, d_gate, "swiglu_backward: the shapes differ");
  require_same<T>(d_y, d_gate, "swiglu_backward: the shapes differ");
  require_same<T>(d_y, d_up, "swiglu_backward: the shapes differ");
  for (Index i = 0; i < d_gate.rows(); ++i) {
    for (Index j = 0; j < d_gate.cols(); ++j) {
      d_gate(i, j) += d_y(i, j) * up(i, j) * derivative(Activation::kSilu, gate(i, j));
      d_up(i, j) += d_y(i, j) * value(Activation::kSilu, gate(i, j));
    }
  }
}

template void activate<float>(Activation, In<float>, Matrix<float>);
template void activate<double>(Activation, In<double>, Matrix<double>);
template void activate_backward<float>(Activation, In<float>, In<float>, Matrix<float>);
template void activate_backward<double>(Activation, In<double>, In<double>, Matrix<double>);
template void swiglu<float>(In<float>, In<float>, Matrix<float>);
template void swiglu<double>(In<double>, In<double>, Matrix<double>);
template void swiglu_backward<float>(In<float>, In<float>, In<float>, Matrix<float>, Matrix<float>);
template void swiglu_backward<double>(In<double>, In<double>, In<double>, Matrix<double>,
                                      Matrix<double>);

}  // namespace attn
