#include "model/convert_heads.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "core/error.h"

namespace attn {
namespace {

bool belongs_to_kv_heads(std::string_view name) {
  return name.find(".k_proj.") != std::string_view::npos ||
         name.find(".v_proj.") != std::string_view::npos;
}

// Rows of a projection (of a bias: its numbers) are the features of one head after another.
template <class T>
void pool(const T* from, Index heads, Index head_numbers, Index group, T* to) {
  for (Index head = 0; head < heads; ++head) {
    for (Index i = 0; i < head_numbers; ++i) {
      double sum = 0;
      for (Index member = 0; member < group; ++member) {
        sum += static_cast<double>(from[(head * group + member) * head_numbers + i]);
      }
      to[head * head_numbers + i] = static_cast<T>(sum / static_cast<double>(group));
    }
  }
}

}  // namespace

template <class T>
std::unique_ptr<Transformer<T>> pool_kv_heads(const Transformer<T>& model, Index kv_heads) {
  ModelConfig config = model.config();
  if (kv_heads < 1 || config.kv_heads % kv_heads != 0) {
    throw UsageError(fmt::format(
        "--kv-heads must divide the key and value heads of the model that is converted: "
        "{} does not divide {}",
        kv_heads, config.kv_heads));
  }
  const Index group = config.kv_heads / kv_heads;
  config.kv_heads = kv_heads;
  auto pooled = std::make_unique<Transformer<T>>(config);
  // Layouts list the same parameters in the same order.
  const std::vector<ParamInfo>& old_list = model.params().list();
  const std::vector<ParamInfo>& new_list = pooled->params().list();
  for (std::size_t i = 0; i < new_list.size(); ++i) {
    const Param& place = new_list[i].place;
    const T* from = model.params().values() + old_list[i].place.offset;
    T* to = pooled->params().values() + place.offset;
    if (belongs_to_kv_heads(new_list[i].name)) {
      pool(from, kv_heads, place.size() / kv_heads, group, to);
    } else {
      std::copy_n(from, place.size(), to);
    }
  }
  return pooled;
}

template std::unique_ptr<Transformer<float>> pool_kv_heads<float>(const Transformer<float>&, Index);
template std::unique_ptr<Transformer<double>> pool_kv_heads<double>(const Transformer<double>&,
                                                                    Index);

}  // namespace attn
