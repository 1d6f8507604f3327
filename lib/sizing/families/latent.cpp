// Multi-head latent attention: one row a token and layer, of the compressed keys and values and the
// rotated part of the key. There is no factor 2, and num_key_value_heads and head_dim mean nothing.
// Sources: DeepSeek-V2 (arXiv:2405.04434) section 2.1; vllm-project/vllm
// vllm/v1/kv_cache_interface.py@001cabc; indexer rows: sgl-project/sglang#11309; DeepSeek-V4:
// transformers configuration_deepseek_v4.py, ai-dynamo/aiconfigurator model_configs,
// vllm-project/vllm#51163; LongCat: configuration_longcat_flash.py and mlx-lm longcat_flash.py (two
// caches a layer); Pangu: DeepSeek's
// names or attention_kv_lora_dim and the like (vllm-ascend patches); A.X K1, Youtu, Sarvam,
// Mistral 4: their configuration classes in transformers 5.24. DeepSeek-V2's class and the code
// beside its weights have other defaults of layers, so there is none.

#include <fmt/core.h>

#include <array>

#include "core/text.h"
#include "sizing/families/family.h"

namespace attn {
namespace {

CacheRows indexer_rows(CacheRows::Span span, Index limit, Index dim) {
  return {.span = span,
          .form = CacheRows::Form::kIndexer,
          .limit = limit,
          .kv_heads = 1,
          .key_dim = dim};
}

CacheSpec latent(ConfigReader& config, const Family& family) {
  Index layers = 0;
  const bool doubled = family.model_type.starts_with("longcat_flash");
  if (doubled) {
    // num_hidden_layers is twice num_layers where a file has both.
    layers = config.required_count({"num_layers"}, "layers");
  } else {
    layers = read_layers(config, family);
  }
  // Some small ones of the family keep plain heads.
  if (!config.flag("use_mla").value_or(true)) {
    for (const char* key : {"kv_lora_rank", "qk_rope_head_dim", "v_head_dim"}) config.ignore(key);
    return plain_rule(config, family);
  }
  for (const char* key : {"head_dim", "num_key_value_heads", "num_nextn_predict_layers"}) {
    config.ignore(key);
  }
  LayerCache layer = latent_layer(config, family);
  const bool sparse = family.model_type == "deepseek_v32" || family.model_type == "glm_moe_dsa";
  if (sparse || config.has("index_head_dim")) {
    const Index dim = config.count_or({"index_head_dim"}, "indexer", {128, family.defaults.name});
    layer.kind = "latent, sparse";
    layer.rows.push_back(indexer_rows(CacheRows::Span::kAll, 0, dim));
  }
  if (doubled) {
    layers *= 2;
    config.note("layers", layers, "num_layers, each with two attentions");
  }
  CacheSpec spec;
  spec.add(layer, layers);
  return spec;
}

// DeepSeek V4: every layer keeps the raw rows of a window; those with a ratio also a row for every
// `ratio` tokens, and where that is 4 an indexer row beside it.
CacheSpec deepseek_v4(ConfigReader& config, const Family& family) {
  const Index layers = read_layers(config, family);
  const Index row = config.count_or({"head_dim"}, "row", {512, family.defaults.name});
  const Index window = config.count_or({"sliding_window"}, "window", {128, family.defaults.name});
  const Index indexer = config.count_or({"index_head_dim"}, "indexer", {128, family.defaults.name});
  std::vector<Index> ratios;
  if (const auto words = read_layer_words(config, "layer_types", layers)) {
    for (const std::string& word : *words) {
      const bool compresses = word == "heavily_compressed_attention";
      if (!compresses && word != "sliding_attention" && word != "compressed_sparse_attention") {
        config.refuse(
            fmt::format("'layer_types' has a kind that is not supported: '{}'", escaped(word)));
      }
      ratios.push_back(compresses ? 128 : word == "sliding_attention" ? 0 : 4);
    }
  } else if (auto stated = config.numbers("compress_ratios")) {
    ratios = *stated;  // the extra layers at the end predict further tokens
    if (static_cast<Index>(ratios.size()) < layers) {
      config.refuse(
          fmt::format("'compress_ratios' has {} entries for {} layers", ratios.size(), layers));
    }
    ratios.resize(static_cast<std::size_t>(layers));
    for (const Index ratio : ratios) {
      if (ratio == 0 || ratio == 4 || ratio == 128) continue;
      config.refuse(fmt::format("'compress_ratios' has {}; 0, 4 and 128 are understood", ratio));
    }
    config.note("layers", layers, "num_hidden_layers, each with its entry of compress_ratios");
  } else {
    config.refuse("says nothing about compression ('compress_ratios')");
  }
  config.ignore("num_key_value_heads");
  config.ignore("qk_rope_head_dim");
  CacheSpec spec;
  for (const Index ratio : ratios) {
    LayerCache layer{.kind = ratio == 0 ? "window" : "compressed"};
    CacheRows rows{.span = CacheRows::Span::kWindow,
                   .form = CacheRows::Form::kLatent,
                   .limit = window,
                   .kv_heads = 1,
                   .key_dim = row};
    layer.rows.push_back(rows);
    if (ratio > 0) {
      rows.span = CacheRows::Span::kCompressed;
      rows.limit = ratio;
      layer.rows.push_back(rows);
      if (ratio == 4) {
        layer.rows.push_back(indexer_rows(CacheRows::Span::kCompressed, ratio, indexer));
      }
    }
    spec.add(layer);
  }
  return spec;
}

constexpr ClassDefaults kV3 = {"DeepseekV3Config", 61, 128, 7168};

constexpr std::array kFamilies = {
    Family{"axk1", {"AXK1Config", 61, 64, 7168}, latent},
    Family{"deepseek_v2", {"DeepseekV2Config", 0, 32, 4096}, latent},
    Family{"deepseek_v3", kV3, latent},
    Family{"deepseek_v32", kV3, latent},
    Family{"deepseek_v4", {"DeepseekV4Config", 43, 64, 4096}, deepseek_v4},
    Family{"glm4_moe_lite", {"Glm4MoeLiteConfig", 47, 20, 2048}, latent},
    Family{"glm_moe_dsa", {"GlmMoeDsaConfig", 78, 64, 6144}, latent},
    Family{"kimi_k2", kV3, latent},
    Family{"longcat_flash", {}, latent},
    Family{"longcat_flash_ngram", {}, latent},
    Family{"minicpm3", {}, latent},
    Family{"mistral4", {}, latent},
    Family{"pangu_ultra_moe", {}, latent},
    Family{"sarvam_mla", {"SarvamMLAConfig", 32, 64, 4096}, latent},
    Family{"youtu", {"YoutuConfig", 32, 16, 2048}, latent},
};

}  // namespace

LayerCache latent_layer(ConfigReader& config, const Family& family) {
  const bool defaults = !family.defaults.name.empty();
  const Index compressed =
      config.count_or({"kv_lora_rank", "attention_kv_lora_dim"}, "latent width",
                      {defaults ? 512 : 0, family.defaults.name});
  const Index rotated = config.count_or({"qk_rope_head_dim", "attention_qk_rope_dim"},
                                        "rotated width", {defaults ? 64 : 0, family.defaults.name});
  CacheRows rows{.form = CacheRows::Form::kLatent, .kv_heads = 1, .key_dim = compressed + rotated};
  rows.expanded_value = config.count({"v_head_dim", "attention_v_dim"}, "value dim").value_or(0);
  const Index plain =
      config.count({"qk_nope_head_dim", "attention_qk_dim"}, "key dim without rope").value_or(0);
  if (plain > 0) rows.expanded_key = plain + rotated;
  rows.expanded_heads = config.count({"num_attention_heads"}, "heads").value_or(0);
  return {.kind = "latent", .rows = {rows}};
}

std::span<const Family> latent_families() {
  return kFamilies;
}

}  // namespace attn
