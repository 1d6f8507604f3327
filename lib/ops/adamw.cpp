#include "ops/adamw.h"

#include <cmath>

#include "core/error.h"
#include "ops/dispatch.h"

// This file is compiled once for every vector target; this part of it only once.
#ifndef ATTNTOOLS_OPS_ADAMW_FACTORS
#define ATTNTOOLS_OPS_ADAMW_FACTORS
namespace attn {

// The settings and the step as the numbers that one element's update takes.
template <class T>
struct AdamWFactors {
  T keep, beta1, beta2, rest1, rest2, rate, inverse_root, eps;
};

}  // namespace attn
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/adamw.cpp"
#include <hwy/foreach_target.h>

#include "ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace attn {
namespace HWY_NAMESPACE {

template <class T>
void update_all(const AdamWFactors<T>& by, const T* gradient, T* m, T* v, T* parameter,
                Index count) {
  const Tag<T> d;
  const auto set = [d](T value) HWY_ATTR { return hn::Set(d, value); };
  for_vectors<T>(count, [&](auto whole, Index i, Index n) HWY_ATTR {
    constexpr bool kWhole = decltype(whole)::value;
    const auto g = load<kWhole>(gradient + i, n);
    const auto new_m = hn::MulAdd(set(by.beta1), load<kWhole>(m + i, n), hn::Mul(set(by.rest1), g));
    const auto new_v =
        hn::MulAdd(set(by.beta2), load<kWhole>(v + i, n), hn::Mul(hn::Mul(set(by.rest2), g), g));
    store<kWhole>(new_m, m + i, n);
    store<kWhole>(new_v, v + i, n);
    const auto divisor = hn::MulAdd(hn::Sqrt(new_v), set(by.inverse_root), set(by.eps));
    const auto move = hn::Mul(set(by.rate), hn::Div(new_m, divisor));
    const auto kept = hn::Mul(load<kWhole>(parameter + i, n), set(by.keep));
    store<kWhole>(hn::Sub(kept, move), parameter + i, n);
  });
}

ATTNTOOLS_BOTH_TYPES(update_all);

}  // namespace HWY_NAMESPACE
}  // namespace attn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn {
namespace {

ATTNTOOLS_EXPORT(update_all);

}  // namespace

template <class T>
void adamw_update(const AdamWSettings& settings, Index step, const T* gradient, T* m, T* v,
                  T* parameter, Index count) {
  require_shape(step >= 1, "adamw_update: steps count from 1");
  const double correction1 = 1 - std::pow(settings.beta1, static_cast<double>(step));
  const double correction2 = 1 - std::pow(settings.beta2, static_cast<double>(step));
  AdamWFactors<T> by{};
  by.keep = static_cast<T>(1 - settings.lr * settings.weight_decay);
  by.beta1 = static_cast<T>(settings.beta1);
  by.beta2 = static_cast<T>(settings.beta2);
  by.rest1 = static_cast<T>(1 - settings.beta1);
  by.rest2 = static_cast<T>(1 - settings.beta2);
  by.rate = static_cast<T>(settings.lr / correction1);
  by.inverse_root = static_cast<T>(1 / std::sqrt(correction2));
  by.eps = static_cast<T>(settings.eps);
  ATTNTOOLS_DISPATCH(T, update_all)(by, gradient, m, v, parameter, count);
}

template void adamw_update<float>(const AdamWSettings&, Index, const float*, float*, float*, float*,
                                  Index);
template void adamw_update<double>(const AdamWSettings&, Index, const double*, double*, double*,
                                   double*, Index);

}  // namespace attn
#endif  // HWY_ONCE
