#pragma once

#include "core/matrix.h"

namespace attn {

/// Layer norm of each row: y = (x - mean) / sqrt(var + eps) * weight + bias, with the biased
/// variance and eps inside the root (Ba et al. 2016, arXiv:1607.06450).
/// x, y (rows, dim); weight (dim); bias (dim) or null for none; mean, rstd (rows): what backward
/// needs.
template <class T>
void layer_norm(In<T> x, const std::type_identity_t<T>* weight, const std::type_identity_t<T>* bias,
                std::type_identity_t<T> eps, Matrix<T> y, T* mean, T* rstd);

/// Adds to d_x (rows, dim), d_weight (dim) and, unless it is null, d_bias (dim).
template <class T>
void layer_norm_backward(In<T> x, const std::type_identity_t<T>* weight,
                         const std::type_identity_t<T>* mean, const std::type_identity_t<T>* rstd,
                         In<T> d_y, Matrix<T> d_x, T* d_weight, T* d_bias);

/// RMS norm of each row: y = x / sqrt(mean(x^2) + eps) * weight (Zhang & Sennrich 2019,
/// arXiv:1910.07467). rstd (rows) is what backward needs.
template <class T>
void rms_norm(In<T> x, const std::type_identity_t<T>* weight, std::type_identity_t<T> eps,
              Matrix<T> y, T* rstd);

/// Adds to d_x (rows, dim) and d_weight (dim).
template <class T>
void rms_norm_backward(In<T> x, const std::type_identity_t<T>* weight,
                       const std::type_identity_t<T>* rstd, In<T> d_y, Matrix<T> d_x, T* d_weight);

}  // namespace attn
