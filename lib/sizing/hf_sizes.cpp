#include <fmt/core.h>

#include "sizing/hf_family.h"

namespace attn {

HfSizes read_hf_sizes(ConfigReader& config, const HfFamily& family) {
  HfSizes sizes;
  sizes.layers =
      config.required_count({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, "layers");
  sizes.heads =
      config.required_count({"num_attention_heads", "n_head", "n_heads", "num_heads"}, "heads");
  const auto kv_heads =
      config.count({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, "kv heads");
  if (!kv_heads && !family.one_kv_head_each) {
    config.refuse(
        fmt::format("says nothing about kv heads (no 'num_key_value_heads'), and {} does "
                    "not mean one for each head by that",
                    family.model_type));
  }
  sizes.kv_heads = kv_heads.value_or(sizes.heads);
  if (!kv_heads) {
    config.note("kv heads", sizes.heads, "one for each head: no 'num_key_value_heads'");
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    config.refuse(fmt::format("{} kv heads do not divide {} heads", sizes.kv_heads, sizes.heads));
  }
  const auto head_dim = config.count({"head_dim", "hidden_size_per_head"}, "head dim");
  if (head_dim) {
    sizes.head_dim = *head_dim;
    return sizes;
  }
  if (family.states_head_dim) {
    config.refuse(
        fmt::format("says nothing about features of a head (no 'head_dim'), and for {} "
                    "they are not width / heads",
                    family.model_type));
  }
  const Index width =
      config.required_count({"hidden_size", "n_embd", "n_embed", "d_model"}, "width");
  if (width % sizes.heads != 0) {
    config.refuse(fmt::format("{} heads do not divide the width {}, and there is no 'head_dim'",
                              sizes.heads, width));
  }
  sizes.head_dim = width / sizes.heads;
  config.note("head dim", sizes.head_dim,
              fmt::format("width / heads = {} / {}", width, sizes.heads));
  return sizes;
}

}  // namespace attn
