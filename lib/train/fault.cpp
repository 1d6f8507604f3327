#include "train/fault.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace attn {

std::string Fault::text() const {
  const std::string place =
      fmt::format("the {} of {}", in_values ? "value" : "gradient", parameter);
  switch (what) {
    case What::kLoss:
      return parameter.empty() ? "the loss is not finite"
                               : fmt::format("the loss and {} are not finite", place);
    case What::kGradient:
      return parameter.empty() ? "the norm of all gradients is not finite"
                               : fmt::format("{} is not finite", place);
    case What::kParameter:
      return fmt::format("{} is not finite", place);
    case What::kMoment:
      break;
  }
  return fmt::format("a moment of {} is not finite", parameter);
}

template <class T>
const ParamInfo* first_not_finite(const ParamStore<T>& params, const T* buffer) {
  for (const ParamInfo& info : params.list()) {
    const T* first = buffer + info.place.offset;
    const bool finite =
        std::all_of(first, first + info.place.size(), [](T value) { return std::isfinite(value); });
    if (!finite) return &info;
  }
  return nullptr;
}

template const ParamInfo* first_not_finite(const ParamStore<float>&, const float*);
template const ParamInfo* first_not_finite(const ParamStore<double>&, const double*);

}  // namespace attn
