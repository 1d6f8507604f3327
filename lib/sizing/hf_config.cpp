#include "sizing/hf_config.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "sizing/config_reader.h"
#include "sizing/hf_family.h"

namespace attn {
namespace {

// Keys by which configurations change what is cached. One that is set and that the family's rule
// did not read would make the answer wrong.
void refuse_what_is_not_understood(const ConfigReader& config) {
  const auto unread = config.unread({"attention_chunk_size",
                                     "attention_types",
                                     "attention_window_size",
                                     "attn_config",
                                     "attn_layer_offset",
                                     "attn_layer_period",
                                     "block_configs",
                                     "block_types",
                                     "compress_ratios",
                                     "conv_L_cache",
                                     "cross_attention_layers",
                                     "decoder_layers",
                                     "full_attention_interval",
                                     "full_attn_idxs",
                                     "global_attn_every_n_layers",
                                     "global_head_dim",
                                     "hybrid_layer_pattern",
                                     "hybrid_override_pattern",
                                     "index_head_dim",
                                     "is_encoder_decoder",
                                     "kv_channels",
                                     "kv_lora_rank",
                                     "layer_types",
                                     "layers_block_type",
                                     "linear_attn_config",
                                     "lru_width",
                                     "mamba_d_state",
                                     "multi_query",
                                     "multi_query_attention",
                                     "multi_query_group_num",
                                     "new_decoder_architecture",
                                     "num_global_key_value_heads",
                                     "num_kv_shared_layers",
                                     "sliding_window",
                                     "sliding_window_pattern",
                                     "ssm_state_size",
                                     "state_size",
                                     "text_config",
                                     "use_cla",
                                     "use_mla",
                                     "v_head_dim"});
  if (unread) {
    config.refuse(fmt::format("'{}' changes what is cached and is not supported here", *unread));
  }
}

CacheSpec resolve(ConfigReader& config) {
  const std::string model_type = config.text("model_type").value_or("");
  // A model that sees or hears keeps its language model inside.
  if (auto inner = config.object("text_config")) {
    if (!inner->has("model_type")) config.refuse("'text_config' does not say its model_type");
    return resolve(*inner);
  }
  const HfFamily* family = hf_family(model_type);
  if (family == nullptr) {
    config.refuse(fmt::format("model_type '{}' is not known", escaped(model_type)));
  }
  CacheSpec spec = family->resolve(config, *family);
  refuse_what_is_not_understood(config);
  spec.facts = std::move(config.facts());
  return spec;
}

}  // namespace

CacheSpec hf_cache_spec(std::string_view json, const std::string& name) {
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(json);
  } catch (const nlohmann::json::parse_error& error) {
    throw DataError(fmt::format("{}: not JSON: it breaks at byte {}", name, error.byte));
  }
  ConfigReader config(document, name);
  return resolve(config);
}

}  // namespace attn
