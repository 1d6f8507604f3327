#include "ops/adamw.h"

#include <cmath>

#include "core/error.h"

namespace attn {

template <class T>
void adamw_update(const AdamWSettings& settings, Index step, const T* gradient, T* m, T* v,
                  T* parameter, Index count) {
  require_shape(step >= 1, "adamw_update: steps count from 1");
  const double correction1 = 1 - std::pow(settings.beta1, static_cast<double>(step));
  const double correction2 = 1 - std::pow(settings.beta2, static_cast<double>(step));
  const T keep = static_cast<T>(1 - settings.lr * settings.weight_decay);
  const T beta1 = static_cast<T>(settings.beta1);
  const T beta2 = static_cast<T>(settings.beta2);
  const T rest1 = static_cast<T>(1 - settings.beta1);
  const T rest2 = static_cast<T>(1 - settings.beta2);
  const T rate = static_cast<T>(settings.lr / correction1);
  const T root = static_cast<T>(std::sqrt(correction2));
  const T eps = static_cast<T>(settings.eps);
  for (Index i = 0; i < count; ++i) {
    const T g = gradient[i];
    m[i] = beta1 * m[i] + rest1 * g;
    v[i] = beta2 * v[i] + rest2 * g * g;
    parameter[i] = parameter[i] * keep - rate * (m[i] / (std::sqrt(v[i]) / root + eps));
  }
}

template void adamw_update<float>(const AdamWSettings&, Index, const float*, float*, float*, float*,
                                  Index);
template void adamw_update<double>(const AdamWSettings&, Index, const double*, double*, double*,
                                   double*, Index);

}  // namespace attn
