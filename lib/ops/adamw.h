#pragma once

#include "core/index.h"

namespace attn {

/// PyTorch's defaults for torch.optim.AdamW.
struct AdamWSettings {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

/// One update of a flat buffer of parameters (Loshchilov & Hutter 2019, arXiv:1711.05101), in
/// PyTorch's order: p *= 1 - lr * weight_decay; m, v are the running means of g and g^2;
/// p -= lr / (1 - beta1^step) * m / (sqrt(v) / sqrt(1 - beta2^step) + eps). step counts from 1.
template <class T>
void adamw_update(const AdamWSettings& settings, Index step, const T* gradient, T* m, T* v,
                  T* parameter, Index count);

}  // namespace attn
