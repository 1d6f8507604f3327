#include "sizing/hf_config.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "io/json_text.h"
#include "sizing/config_reader.h"
#include "sizing/families/family.h"
#include "sizing/weights.h"

namespace attn {
namespace {

// Keys by which configurations change what is cached. One that is set and that the family's rule
// did not read would make the answer wrong.
void refuse_what_is_not_understood(const ConfigReader& config) {
  const auto unread = config.unread({"add_cross_attention",
                                     "attention_chunk_size",
                                     "attention_head_type",
                                     "attention_kv_lora_dim",
                                     "attention_layers",
                                     "attention_other_setting",
                                     "attention_types",
                                     "attention_window_size",
                                     "attn_config",
                                     "attn_layer_indices",
                                     "attn_layer_offset",
                                     "attn_layer_period",
                                     "attn_type_list",
                                     "block_configs",
                                     "block_types",
                                     "cla_share_factor",
                                     "compress_rate_csa",
                                     "compress_rate_hca",
                                     "compress_rates",
                                     "compress_ratios",
                                     "conv_L_cache",
                                     "cross_attention_layers",
                                     "cross_layer_interval",
                                     "decoder_layers",
                                     "full_attention_interval",
                                     "full_attn_idxs",
                                     "global_attn_every_n_layers",
                                     "global_head_dim",
                                     "hybrid_layer_ids",
                                     "hybrid_layer_pattern",
                                     "hybrid_override_pattern",
                                     "index_head_dim",
                                     "indexer_types",
                                     "interleaved_sliding_window",
                                     "is_encoder_decoder",
                                     "kv_channels",
                                     "kv_lora_rank",
                                     "kv_reuse_group",
                                     "layer_block_types",
                                     "layer_group_size",
                                     "layer_types",
                                     "layers_block_type",
                                     "linear_attn_config",
                                     "linear_num_value_heads",
                                     "local_attention_window",
                                     "lru_width",
                                     "mamba_d_state",
                                     "multi_query",
                                     "multi_query_attention",
                                     "multi_query_group_num",
                                     "n_shared_head",
                                     "new_decoder_architecture",
                                     "num_global_key_value_heads",
                                     "num_key_value_heads_per_layer",
                                     "num_kv_heads_per_layer",
                                     "num_kv_reuse_layers",
                                     "num_kv_shared_layers",
                                     "num_loops",
                                     "per_layer_config",
                                     "qk_rope_head_dim",
                                     "recurrent_kv_cache_mode",
                                     "sliding_window",
                                     "sliding_window_layers",
                                     "sliding_window_pattern",
                                     "sliding_window_size",
                                     "ssm_state_size",
                                     "state_size",
                                     "swa_head_dim",
                                     "swa_num_key_value_heads",
                                     "swa_v_head_dim",
                                     "text_config",
                                     "use_cla",
                                     "use_mla",
                                     "v_head_dim"});
  if (unread) {
    config.refuse(fmt::format("'{}' changes what is cached and is not supported here", *unread));
  }
}

// Where a window that is not used is written down all the same.
void ignore_unused_window(ConfigReader& config) {
  if (config.has("use_sliding_window") && !config.flag("use_sliding_window").value_or(true)) {
    config.ignore("sliding_window");
  }
}

const char* inner_key(const ConfigReader& config) {
  for (const char* key :
       {"text_config", "llm_config", "language_config", "thinker_config", "decoder"}) {
    if (config.is_object(key)) return key;
  }
  return nullptr;
}

const Family& family_of(ConfigReader& config, const std::string& model_type,
                        std::string_view assume) {
  if (!assume.empty()) {
    if (const Family* family = find_family(assume)) return *family;
    const std::string near = nearest_word(assume, family_names());
    throw UsageError(fmt::format("--assume: no family is called '{}'", escaped(assume)),
                     near.empty() ? std::vector<std::string>{}
                                  : std::vector{fmt::format("did you mean '{}'?", near)});
  }
  const Family* family = find_family(model_type);
  if (family == nullptr) {
    config.refuse(fmt::format("model_type '{}' is not known", escaped(model_type)));
  }
  return *family;
}

// What the file says of itself beside the cache.
void read_surroundings(ConfigReader& config, CacheSpec& spec) {
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (spec.own_type.empty() && config.letters(key)) spec.own_type = *config.letters(key);
  }
  for (const char* key : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length",
                          "max_sequence_length", "max_target_positions", "n_ctx"}) {
    const Index most = config.number_if_any(key).value_or(0);
    if (most > 0 && (spec.max_tokens == 0 || most < spec.max_tokens)) spec.max_tokens = most;
  }
  // A quantised weight format says nothing of the cache; its kv_cache_scheme does.
  if (!config.is_object("quantization_config")) return;
  auto quantised = config.object("quantization_config");
  if (quantised->is_object("kv_cache_scheme")) {
    auto scheme = quantised->object("kv_cache_scheme");
    const Index bits = scheme->number_if_any("num_bits").value_or(0);
    const std::string type = scheme->letters("type").value_or("float");
    if (bits == 8) spec.cache_type = type == "int" ? "int8" : "fp8";
  } else if (const auto algo = quantised->letters("kv_cache_quant_algo")) {
    if (*algo == "FP8") spec.cache_type = "fp8";
    if (*algo == "NVFP4") spec.cache_type = "nvfp4";
  }
}

CacheSpec resolve(ConfigReader& config, std::string_view assume, std::string_view outer,
                  int depth) {
  std::string model_type = config.text("model_type").value_or("");
  if (model_type.empty()) model_type = outer;
  const char* key = depth < 4 ? inner_key(config) : nullptr;
  if (key != nullptr) {
    auto inner = config.object(key);
    const std::string_view known = inner_model_type(model_type);
    const bool crossed = std::string_view(key) == "decoder";
    if (!inner->has("model_type") && known.empty() && inner_key(*inner) == nullptr &&
        assume.empty()) {
      config.refuse(fmt::format("'{}' does not say its model_type", key));
    }
    CacheSpec spec = resolve(*inner, assume, known, depth + 1);
    if (!known.empty() && !inner->has("model_type")) {
      spec.facts.push_back({"the family", 1, fmt::format("{}, inside {}", known, model_type)});
    }
    read_surroundings(config, spec);
    return crossed ? with_cross_attention(std::move(spec), 0) : spec;
  }
  const Family& family = family_of(config, model_type, assume);
  CacheSpec spec = family.resolve(config, family);
  ignore_unused_window(config);
  if (assume.empty()) refuse_what_is_not_understood(config);
  spec.family = family.model_type;
  spec.heads = 0;
  for (const SpecFact& fact : config.facts()) {
    if (fact.what == "heads") spec.heads = fact.value;
  }
  spec.facts = std::move(config.facts());
  if (!assume.empty()) {
    spec.facts.push_back({"the family", 1, fmt::format("--assume {}", assume)});
  } else if (model_type.empty()) {
    spec.facts.push_back({"the family", 1, "a guess: no model_type, so plain attention"});
  }
  read_surroundings(config, spec);
  return spec;
}

// A file may say all about its cache and too little about its weights: no reason to refuse it.
void count_parameters(const nlohmann::json& document, const std::string& name, CacheSpec& spec) {
  try {
    if (const auto count = weight_count(document, name)) {
      spec.parameters = count->parameters;
      spec.active_parameters = count->active;
    } else {
      spec.no_parameters =
          fmt::format("{}: how the layers of '{}' are built is not known here", name, spec.family);
    }
  } catch (const DataError& error) {
    spec.no_parameters = error.what();
  }
}

}  // namespace

CacheSpec hf_cache_spec(std::string_view json, const std::string& name, std::string_view assume) {
  const nlohmann::json document = parse_json(json, name);
  ConfigReader config(document, name);
  CacheSpec spec = resolve(config, assume, "", 0);
  count_parameters(document, name, spec);
  return spec;
}

}  // namespace attn
