#include "ops/norm.h"

#include <cmath>

#include "ops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/norm.cpp"
#include <hwy/foreach_target.h>

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

template <class T>
void layer_norm_rows(Matrix<const T> x, const T* weight, const T* bias, T eps, Matrix<T> y, T* mean,
                     T* rstd) {
  const Tag<T> d;
  const Index dim = x.cols();
  const T inverse_dim = T{1} / static_cast<T>(dim);
  for (Index i = 0; i < x.rows(); ++i) {
    const T* row = x.row(i);
    mean[i] = sum_over<T>(
                  dim, [](auto v) HWY_ATTR { return v; }, row) *
              inverse_dim;
    const auto centre = hn::Set(d, mean[i]);
    const T squares = sum_over<T>(
        dim,
        [=](auto v) HWY_ATTR {
          const auto centred = hn::Sub(v, centre);
          return hn::Mul(centred, centred);
        },
        row);
    rstd[i] = T{1} / std::sqrt(squares * inverse_dim + eps);
    const auto factor = hn::Set(d, rstd[i]);
    const auto scaled = [=](auto v, auto w)
                            HWY_ATTR { return hn::Mul(hn::Mul(hn::Sub(v, centre), factor), w); };
    if (bias == nullptr) {
      transform<T>(dim, y.row(i), scaled, row, weight);
    } else {
      transform<T>(
          dim, y.row(i), [=](auto v, auto w, auto b) HWY_ATTR { return hn::Add(scaled(v, w), b); },
          row, weight, bias);
    }
  }
}

// With g = d_y * weight and xhat = (x - mean) * rstd:
// d_x += rstd * (g - mean(g) - xhat * mean(g * xhat)). RMS norm takes no mean off, neither of x
// nor of g.
template <bool kCentred, class T>
HWY_INLINE void norm_backward_row(const T* x, const T* weight, T mean, T rstd, const T* d_y,
                                  Index dim, T* d_x, T* d_weight, T* d_bias) {
  const Tag<T> d;
  const auto centre = hn::Set(d, mean);
  const auto factor = hn::Set(d, rstd);
  const auto normalised = [=](auto v) HWY_ATTR {
    return hn::Mul(kCentred ? hn::Sub(v, centre) : v, factor);
  };
  auto sum_g = hn::Zero(d);
  auto sum_g_xhat = hn::Zero(d);
  for_vectors<T>(dim, [&](auto whole, Index i, Index n) HWY_ATTR {
    // In the rest of a row d_y is loaded as 0 and adds nothing.
    constexpr bool kWhole = decltype(whole)::value;
    const auto d_at = load<kWhole>(d_y + i, n);
    const auto xhat = normalised(load<kWhole>(x + i, n));
    const auto g = hn::Mul(d_at, load<kWhole>(weight + i, n));
    if constexpr (kCentred) sum_g = hn::Add(sum_g, g);
    sum_g_xhat = hn::MulAdd(g, xhat, sum_g_xhat);
    store<kWhole>(hn::MulAdd(d_at, xhat, load<kWhole>(d_weight + i, n)), d_weight + i, n);
    if (d_bias != nullptr) {
      store<kWhole>(hn::Add(d_at, load<kWhole>(d_bias + i, n)), d_bias + i, n);
    }
  });
  const auto inverse_dim = hn::Set(d, T{1} / static_cast<T>(dim));
  const auto mean_g = hn::Mul(hn::SumOfLanes(d, sum_g), inverse_dim);
  const auto mean_g_xhat = hn::Mul(hn::SumOfLanes(d, sum_g_xhat), inverse_dim);
  transform<T>(
      dim, d_x,
      [=](auto v, auto w, auto d_at, auto sum) HWY_ATTR {
        auto g = hn::Mul(d_at, w);
        if constexpr (kCentred) g = hn::Sub(g, mean_g);
        return hn::MulAdd(factor, hn::NegMulAdd(normalised(v), mean_g_xhat, g), sum);
      },
      x, weight, d_y, d_x);
}

template <class T>
void layer_norm_backward_rows(Matrix<const T> x, const T* weight, const T* mean, const T* rstd,
                              Matrix<const T> d_y, Matrix<T> d_x, T* d_weight, T* d_bias) {
  for (Index i = 0; i < x.rows(); ++i) {
    norm_backward_row<true>(x.row(i), weight, mean[i], rstd[i], d_y.row(i), x.cols(), d_x.row(i),
                            d_weight, d_bias);
  }
}

template <class T>
void rms_norm_rows(Matrix<const T> x, const T* weight, T eps, Matrix<T> y, T* rstd) {
  const Tag<T> d;
  const Index dim = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    const T squares = sum_over<T>(
        dim, [](auto v) HWY_ATTR { return hn::Mul(v, v); }, x.row(i));
    rstd[i] = T{1} / std::sqrt(squares / static_cast<T>(dim) + eps);
    const auto factor = hn::Set(d, rstd[i]);
    transform<T>(
        dim, y.row(i), [=](auto v, auto w) HWY_ATTR { return hn::Mul(hn::Mul(v, factor), w); },
        x.row(i), weight);
  }
}

template <class T>
void rms_norm_backward_rows(Matrix<const T> x, const T* weight, const T* rstd, Matrix<const T> d_y,
                            Matrix<T> d_x, T* d_weight) {
  T* const no_bias = nullptr;
  for (Index i = 0; i < x.rows(); ++i) {
    norm_backward_row<false>(x.row(i), weight, T{0}, rstd[i], d_y.row(i), x.cols(), d_x.row(i),
                             d_weight, no_bias);
  }
}

ATTNTOOLS_BOTH_TYPES(layer_norm_rows);
ATTNTOOLS_BOTH_TYPES(layer_norm_backward_rows);
ATTNTOOLS_BOTH_TYPES(rms_norm_rows);
ATTNTOOLS_BOTH_TYPES(rms_norm_backward_rows);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(layer_norm_rows);
ATTNTOOLS_EXPORT(layer_norm_backward_rows);
ATTNTOOLS_EXPORT(rms_norm_rows);
ATTNTOOLS_EXPORT(rms_norm_backward_rows);

}  // namespace

template <class T>
void layer_norm(In<T> x, const std::type_identity_t<T>* weight, const std::type_identity_t<T>* bias,
                std::type_identity_t<T> eps, Matrix<T> y, T* mean, T* rstd) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), "layer_norm: the shapes differ");
  ATTNTOOLS_DISPATCH(T, layer_norm_rows)(x, weight, bias, eps, y, mean, rstd);
}

template <class T>
void layer_norm_backward(In<T> x, const std::type_identity_t<T>* weight,
                         const std::type_identity_t<T>* mean, const std::type_identity_t<T>* rstd,
                         In<T> d_y, Matrix<T> d_x, T* d_weight, T* d_bias) {
  require_shape(x.rows() == d_y.rows() && x.cols() == d_y.cols() && x.rows() == d_x.rows() &&
                    x.cols() == d_x.cols(),
                "layer_norm_backward: the shapes differ");
  ATTNTOOLS_DISPATCH(T, layer_norm_backward_rows)
  (x, weight, mean, rstd, d_y, d_x, d_weight, d_bias);
}

template <class T>
void rms_norm(In<T> x, const std::type_identity_t<T>* weight, std::type_identity_t<T> eps,
              Matrix<T> y, T* rstd) {
  require_shape(x.rows() == y.rows() && x.cols() == y.cols(), "rms_norm: the shapes differ");
  ATTNTOOLS_DISPATCH(T, rms_norm_rows)(x, weight, eps, y, rstd);
}

template <class T>
void rms_norm_backward(In<T> x, const std::type_identity_t<T>* weight,
                       const std::type_identity_t<T>* rstd, In<T> d_y, Matrix<T> d_x, T* d_weight) {
  require_shape(x.rows() == d_y.rows() && x.cols() == d_y.cols() && x.rows() == d_x.rows() &&
                    x.cols() == d_x.cols(),
                "rms_norm_backward: the shapes differ");
  ATTNTOOLS_DISPATCH(T, rms_norm_backward_rows)(x, weight, rstd, d_y, d_x, d_weight);
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
#endif  // HWY_ONCE
