#pragma once

#include "core/dtype.h"

namespace attn {

/// A result as an implementation in `dtype` stores it, where T is what it computes in.
template <class T>
T rounded(T value, DType dtype) {
  if (dtype == DType::kF16) return f16_to_float(float_to_f16(static_cast<float>(value)));
  if (dtype == DType::kBF16) return bf16_to_float(float_to_bf16(static_cast<float>(value)));
  return value;
}

}  // namespace attn
