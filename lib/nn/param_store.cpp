#include "nn/param_store.h"

#include <cmath>

#include "core/error.h"
#include "core/rng.h"

namespace attn {

template <class T>
Param ParamStore<T>::add(std::string name, Shape shape, Init init, Index fan_in) {
  require_shape(find(name) == nullptr, "param store: two parameters are called " + name);
  require_shape(shape.size() == 1 || shape.size() == 2, "param store: rank of " + name);
  require_shape(values_.empty(), "param store: already allocated");
  Param place;
  place.offset = size();
  place.rows = shape.size() == 2 ? shape[0] : 1;
  place.cols = shape.back();
  size_ += place.size();
  list_.push_back({std::move(name), std::move(shape), place, init, fan_in});
  return place;
}

template <class T>
void ParamStore<T>::allocate() {
  values_.assign(static_cast<std::size_t>(size_), T{0});
}

template <class T>
const ParamInfo* ParamStore<T>::find(std::string_view name) const {
  for (const ParamInfo& info : list_) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

template <class T>
void ParamStore<T>::initialise(std::uint64_t seed) {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const ParamInfo& info = list_[i];
    Rng rng(seed, RandomPurpose::kInitialisation, static_cast<std::uint32_t>(i));
    const double bound = info.fan_in > 0 ? 1.0 / std::sqrt(static_cast<double>(info.fan_in)) : 0.0;
    T* value = values_.data() + info.place.offset;
    for (Index j = 0; j < info.place.size(); ++j) {
      switch (info.init) {
        case Init::kZeros:
          value[j] = T{0};
          break;
        case Init::kOnes:
          value[j] = T{1};
          break;
        case Init::kUniform:
          value[j] = static_cast<T>(rng.uniform(-bound, bound));
          break;
        case Init::kNormal:
          value[j] = static_cast<T>(rng.normal());
          break;
      }
    }
  }
}

template class ParamStore<float>;
template class ParamStore<double>;

}  // namespace attn
