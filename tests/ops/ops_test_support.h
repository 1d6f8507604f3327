#pragma once

#include <vector>

#include "core/matrix.h"
#include "core/rng.h"
#include "core/tensor.h"

namespace attn {

/// Numbers uniform in (-spread, spread), the same for every machine.
template <class T>
Tensor<T> random_tensor(Shape shape, std::uint32_t stream, double spread = 1.0) {
  Rng rng(2, RandomPurpose::kExample, stream);
  Tensor<T> made(std::move(shape));
  for (T& value : made.values) value = static_cast<T>(rng.uniform(-spread, spread));
  return made;
}

/// The same numbers in another type.
template <class To, class From>
Tensor<To> converted(const Tensor<From>& from) {
  Tensor<To> made(from.shape);
  for (std::size_t i = 0; i < made.values.size(); ++i) {
    made.values[i] = static_cast<To>(from.values[i]);
  }
  return made;
}

}  // namespace attn
