#include "ops/norm.h"

#include <cmath>

namespace attn {

template <class T>
void layer_norm(In<T> x, const std::type_identity_t<T>* weight, const std::type_identity_t<T>* bias,
                std::type_identity_t<T> eps, Matrix<T> y, T* mean, T* rstd) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), "layer_norm: the shapes differ");
  const Index dim = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    T total = 0;
    for (Index j = 0; j < dim; ++j) total += x(i, j);
    const T row_mean = total / static_cast<T>(dim);
    T squares = 0;
    for (Index j = 0; j < dim; ++j) {
      const T centred = x(i, j) - row_mean;
      squares += centred * centred;
    }
    const T row_rstd = T{1} / std::sqrt(squares / static_cast<T>(dim) + eps);
    for (Index j = 0; j < dim; ++j) {
      const T scaled = (x(i, j) - row_mean) * row_rstd * weight[j];
      y(i, j) = bias == nullptr ? scaled : scaled + bias[j];
    }
    mean[i] = row_mean;
    rstd[i] = row_rstd;
  }
}

template <class T>
void layer_norm_backward(In<T> x, const std::type_identity_t<T>* weight,
                         const std::type_identity_t<T>* mean, const std::type_identity_t<T>* rstd,
                         In<T> d_y, Matrix<T> d_x, T* d_weight, T* d_bias) {
  require_shape(x.rows() == d_y.rows() && x.cols() == d_y.cols() && x.rows() == d_x.rows() &&
                    x.cols() == d_x.cols(),
                "layer_norm_backward: the shapes differ");
  const Index dim = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    // With g = d_y * weight and xhat the normalised row:
    // d_x = rstd * (g - mean(g) - xhat * mean(g * xhat)).
    T sum_g = 0;
    T sum_g_xhat = 0;
    for (Index j = 0; j < dim; ++j) {
      const T xhat = (x(i, j) - mean[i]) * rstd[i];
      const T g = d_y(i, j) * weight[j];
      sum_g += g;
      sum_g_xhat += g * xhat;
      d_weight[j] += d_y(i, j) * xhat;
      if (d_bias != nullptr) d_bias[j] += d_y(i, j);
    }
    const T mean_g = sum_g / static_cast<T>(dim);
    const T mean_g_xhat = sum_g_xhat / static_cast<T>(dim);
    for (Index j = 0; j < dim; ++j) {
      const T xhat = (x(i, j) - mean[i]) * rstd[i];
      d_x(i, j) += rstd[i] * (d_y(i, j) * weight[j] - mean_g - xhat * mean_g_xhat);
    }
  }
}

template <class T>
void rms_norm(In<T> x, const std::type_identity_t<T>* weight, std::type_identity_t<T> eps,
              Matrix<T> y, T* rstd) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), "rms_norm: the shapes differ");
  const Index dim = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    T squares = 0;
    for (Index j = 0; j < dim; ++j) squares += x(i, j) * x(i, j);
    const T row_rstd = T{1} / std::sqrt(squares / static_cast<T>(dim) + eps);
    for (Index j = 0; j < dim; ++j) y(i, j) = x(i, j) * row_rstd * weight[j];
    rstd[i] = row_rstd;
  }
}

template <class T>
void rms_norm_backward(In<T> x, const std::type_identity_t<T>* weight,
                       const std::type_identity_t<T>* rstd, In<T> d_y, Matrix<T> d_x, T* d_weight) {
  require_shape(x.rows() == d_y.rows() && x.cols() == d_y.cols() && x.rows() == d_x.rows() &&
                    x.cols() == d_x.cols(),
                "rms_norm_backward: the shapes differ");
  const Index dim = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    // d_x = rstd * (g - xhat * mean(g * xhat)).
    T sum_g_xhat = 0;
    for (Index j = 0; j < dim; ++j) {
      const T xhat = x(i, j) * rstd[i];
      sum_g_xhat += d_y(i, j) * weight[j] * xhat;
      d_weight[j] += d_y(i, j) * xhat;
    }
    const T mean_g_xhat = sum_g_xhat / static_cast<T>(dim);
    for (Index j = 0; j < dim; ++j) {
      d_x(i, j) += rstd[i] * (d_y(i, j) * weight[j] - x(i, j) * rstd[i] * mean_g_xhat);
    }
  }
}

template void layer_norm<float>(In<float>, const float*, const float*, float, Matrix<float>, float*,
                                float*);
template void layer_norm<double>(In<double>, const double*, const double*, double, Matrix<double>,
                                 double*, double*);
template void layer_norm_backward<float>(In<float>, const float*, const float*, const float*,
                                         In<float>, Matrix<float>, float*, float*);
template void layer_norm_backward<double>(In<double>, const double*, const double*, const double*,
                                          In<double>, Matrix<double>, double*, double*);
template void rms_norm<float>(In<float>, const float*, float, Matrix<float>, float*);
template void rms_norm<double>(In<double>, const double*, double, Matrix<double>, double*);
template void rms_norm_backward<float>(In<float>, const float*, const float*, In<float>,
                                       Matrix<float>, float*);
template void rms_norm_backward<double>(In<double>, const double*, const double*, In<double>,
                                        Matrix<double>, double*);

}  // namespace attn
