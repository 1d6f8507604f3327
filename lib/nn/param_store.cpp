#include "nn/param_store.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/rng.h"

namespace attn {
namespace {

// The number `size`, uniform within it, or normal with that deviation.
struct Draw {
  enum Kind { kConstant, kUniform, kNormal } kind;
  double size;
};

Draw pytorch_draw(const InitRule& rule) {
  switch (rule.init) {
    case Init::kZeros:
      break;
    case Init::kOnes:
      return {Draw::kConstant, 1};
    case Init::kUniform:
      return {Draw::kUniform,
              rule.fan_in > 0 ? 1 / std::sqrt(static_cast<double>(rule.fan_in)) : 0};
    case Init::kNormal:
      return {Draw::kNormal, 1};
  }
  return {Draw::kConstant, 0};
}

Draw gpt2_draw(const ParamInfo& info) {
  constexpr double kDeviation = 0.02;
  const InitRule& rule = info.rule;
  const bool bias = rule.init == Init::kUniform && info.shape.size() == 1;
  if (bias) return {Draw::kConstant, 0};
  if (rule.init != Init::kUniform && rule.init != Init::kNormal) return pytorch_draw(rule);
  const auto additions = static_cast<double>(std::max<Index>(1, rule.residual_additions));
  return {Draw::kNormal, kDeviation / std::sqrt(additions)};
}

Draw xavier_draw(const ParamInfo& info) {
  if (info.rule.init != Init::kUniform) return pytorch_draw(info.rule);
  if (info.shape.size() == 1) return {Draw::kConstant, 0};  // a bias
  const auto ends = static_cast<double>(info.place.rows + info.place.cols);
  return {Draw::kUniform, std::sqrt(6 / ends)};
}

Draw draw_of(const ParamInfo& info, InitScheme scheme) {
  switch (scheme) {
    case InitScheme::kPyTorch:
      break;
    case InitScheme::kGpt2:
      return gpt2_draw(info);
    case InitScheme::kXavier:
      return xavier_draw(info);
  }
  return pytorch_draw(info.rule);
}

}  // namespace

template <class T>
Param ParamStore<T>::add(std::string name, Shape shape, const InitRule& rule) {
  require_shape(find(name) == nullptr, "param store: two parameters are called " + name);
  require_shape(shape.size() == 1 || shape.size() == 2, "param store: rank of " + name);
  require_shape(values_.empty(), "param store: already allocated");
  Param place;
  place.offset = size();
  place.rows = shape.size() == 2 ? shape[0] : 1;
  place.cols = shape.back();
  size_ += place.size();
  place_of_.emplace(name, list_.size());
  list_.push_back({std::move(name), std::move(shape), place, rule});
  return place;
}

template <class T>
void ParamStore<T>::allocate() {
  values_.assign(static_cast<std::size_t>(size_), T{0});
}

template <class T>
const ParamInfo* ParamStore<T>::find(std::string_view name) const {
  const auto at = place_of_.find(std::string(name));
  return at == place_of_.end() ? nullptr : &list_[at->second];
}

template <class T>
void ParamStore<T>::initialise(std::uint64_t seed, InitScheme scheme) {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const ParamInfo& info = list_[i];
    const Draw draw = draw_of(info, scheme);
    Rng rng(seed, RandomPurpose::kInitialisation, static_cast<std::uint32_t>(i));
    T* value = values_.data() + info.place.offset;
    for (Index j = 0; j < info.place.size(); ++j) {
      double drawn = draw.size;
      if (draw.kind == Draw::kUniform) drawn = rng.uniform(-draw.size, draw.size);
      if (draw.kind == Draw::kNormal) drawn = draw.size * rng.normal();
      value[j] = static_cast<T>(drawn);
    }
  }
}

template class ParamStore<float>;
template class ParamStore<double>;

}  // namespace attn
