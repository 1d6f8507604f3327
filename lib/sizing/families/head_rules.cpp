// Families whose key-value heads are said in a way of their own.
// Sources: Falcon, MPT, DBRX, DeciLM: vllm-project/vllm
// vllm/transformers_utils/model_arch_config_convertor.py@00bb6f5; GPT-BigCode, ChatGLM, Qwen:
// mlc-ai/mlc-llm model_preset.py; OpenELM: vllm-project/vllm#4549; JetMoE:
// configuration_jetmoe.py; PLaMo: mlx-lm plamo.py; hf_olmo:
// allenai/OLMo olmo/config.py (effective_n_kv_heads); Falcon 40B checked against a
// log of ggllm.cpp.

#include <fmt/core.h>

#include <array>

#include "core/ceil_div.h"
#include "sizing/families/family.h"

namespace attn {
namespace {

// Falcon: multi_query means one head, unless the new architecture gives num_kv_heads a meaning.
CacheSpec falcon(ConfigReader& config, const Family& family) {
  Sizes sizes;
  sizes.layers = read_layers(config, family);
  sizes.heads = read_heads(config, family);
  sizes.head_dim = read_head_dim(config, family, sizes.heads);
  // The 40B's first file has n_head_kv alone.
  const bool first_40b =
      family.model_type == "RefinedWeb" && config.has("n_head_kv") && !config.has("multi_query");
  const bool grouped = config.flag("new_decoder_architecture").value_or(first_40b);
  const bool one = config.flag("multi_query").value_or(true);
  if (grouped) {
    sizes.kv_heads = config.count({"num_kv_heads", "n_head_kv"}, "kv heads").value_or(0);
    if (sizes.kv_heads == 0) {
      sizes.kv_heads = sizes.heads;  // FalconConfig: num_kv_heads or else num_attention_heads
      config.note("kv heads", sizes.heads, "default of FalconConfig: one for each head");
    }
  } else {
    sizes.kv_heads = one ? 1 : sizes.heads;
    config.note("kv heads", sizes.kv_heads,
                one ? (config.has("multi_query") ? "multi_query" : "default of FalconConfig")
                    : "no multi_query");
  }
  return all_full(sizes);
}

// GPT-2, and SantaCoder's first file, which calls itself so and has one head.
CacheSpec gpt2(ConfigReader& config, const Family& family) {
  Sizes sizes = read_sizes(config, family);
  if (config.letters("attention_head_type").value_or("") == "multiquery") {
    sizes.kv_heads = 1;
    config.note("kv heads", 1, "attention_head_type");
  }
  return all_full(sizes);
}

// GPT-BigCode: one head unless multi_query is false.
CacheSpec bigcode(ConfigReader& config, const Family& family) {
  Sizes sizes = read_sizes(config, family);
  const auto one = config.flag("multi_query");
  if (one.value_or(true)) {
    sizes.kv_heads = 1;
    config.note("kv heads", 1, one ? "multi_query" : "default of GPTBigCodeConfig: multi_query");
  }
  return all_full(sizes);
}

// MPT and DBRX keep their key-value heads in attn_config, among keys that mean nothing here; DBRX
// means one where it says nothing.
CacheSpec nested_kv_heads(ConfigReader& config, const Family& family) {
  Family by_heads = family;
  by_heads.defaults.kv_heads = 0;
  Sizes sizes = read_sizes(config, by_heads);
  Index kv_heads = 0;
  std::string type;
  if (auto attention = config.object("attn_config")) {
    kv_heads = attention->count({"kv_n_heads"}, "kv heads").value_or(0);
    type = attention->text("attn_type").value_or("");
  }
  if (kv_heads > 0) {
    sizes.kv_heads = kv_heads;
    config.note("kv heads", kv_heads, "attn_config.kv_n_heads");
  } else if (type == "multiquery_attention") {
    sizes.kv_heads = 1;
    config.note("kv heads", 1, "attn_config.attn_type");
  } else if (family.defaults.kv_heads > 0) {
    sizes.kv_heads = family.defaults.kv_heads;
    config.note("kv heads", sizes.kv_heads, fmt::format("default of {}", family.defaults.name));
  } else if (type == "grouped_query_attention") {
    config.refuse("says nothing about kv heads (no 'attn_config.kv_n_heads')");
  }
  if (sizes.heads % sizes.kv_heads != 0) {
    config.refuse(fmt::format("{} kv heads do not divide {} heads", sizes.kv_heads, sizes.heads));
  }
  return all_full(sizes);
}

// ChatGLM: groups where multi_query_attention is true; features of a head are kv_channels.
CacheSpec chatglm(ConfigReader& config, const Family& family) {
  Sizes sizes;
  sizes.layers = read_layers(config, family);
  sizes.heads = read_heads(config, family);
  sizes.kv_heads = sizes.heads;
  if (config.flag("multi_query_attention").value_or(false)) {
    sizes.kv_heads = config.count_or({"multi_query_group_num"}, "kv heads", {1, "ChatGLMConfig"});
  } else {
    config.note("kv heads", sizes.heads, "one for each head: no 'multi_query_attention'");
  }
  config.ignore("multi_query_group_num");
  const auto stated = config.count({"kv_channels"}, "head dim");
  sizes.head_dim = stated ? *stated : read_head_dim(config, family, sizes.heads);
  return all_full(sizes);
}

// Qwen, the first: kv_channels, and a key-value head for each head.
CacheSpec qwen(ConfigReader& config, const Family& family) {
  Sizes sizes;
  sizes.layers = read_layers(config, family);
  sizes.heads = read_heads(config, family);
  sizes.kv_heads = sizes.heads;
  config.note("kv heads", sizes.heads, "one for each head");
  const auto stated = config.count({"kv_channels"}, "head dim");
  sizes.head_dim = stated ? *stated : read_head_dim(config, family, sizes.heads);
  return all_full(sizes);
}

// The first OLMo files: one head where multi_query_attention is true.
CacheSpec first_olmo(ConfigReader& config, const Family& family) {
  Sizes sizes = read_sizes(config, family);
  if (config.flag("multi_query_attention").value_or(false) && !config.has("n_kv_heads")) {
    sizes.kv_heads = 1;
    config.note("kv heads", 1, "multi_query_attention");
  }
  return all_full(sizes);
}

// JetMoE: experts of attention share key-value heads of kv_channels.
CacheSpec jetmoe(ConfigReader& config, const Family& family) {
  Sizes sizes;
  sizes.layers = read_layers(config, family);
  sizes.kv_heads = config.count_or({"num_key_value_heads"}, "kv heads", {16, family.defaults.name});
  sizes.head_dim = config.count_or({"kv_channels"}, "head dim", {128, family.defaults.name});
  return all_full(sizes);
}

// PLaMo: n_shared_head heads share one of keys and values, the last group being smaller.
CacheSpec plamo(ConfigReader& config, const Family& family) {
  Sizes sizes;
  sizes.layers = read_layers(config, family);
  sizes.heads = read_heads(config, family);
  sizes.head_dim = read_head_dim(config, family, sizes.heads);
  const Index shared =
      config.count_or({"n_shared_head"}, "heads of a group", {8, family.defaults.name});
  sizes.kv_heads = ceil_div(sizes.heads, shared);
  config.note("kv heads", sizes.kv_heads, "heads / n_shared_head, rounded up");
  config.ignore("num_key_value_heads");
  return all_full(sizes);
}

// OpenELM: heads layer by layer.
CacheSpec openelm(ConfigReader& config, const Family& family) {
  if (!config.is_list("num_kv_heads")) config.refuse("says nothing about kv heads of each layer");
  Family stated = family;
  stated.defaults.head_dim = kMustSay;
  const std::vector<Index> each = *config.numbers("num_kv_heads");
  const Index layers = read_layers(config, family);
  if (static_cast<Index>(each.size()) != layers) {
    config.refuse(fmt::format("'num_kv_heads' has {} entries for {} layers", each.size(), layers));
  }
  const Index head_dim = read_head_dim(config, stated, 1);
  CacheSpec spec;
  Index sum = 0;
  for (const Index kv_heads : each) {
    if (kv_heads < 1) config.refuse("'num_kv_heads' must be 1 or more in each layer");
    sum += kv_heads;
    spec.add(full_layer(kv_heads, head_dim, head_dim));
  }
  config.note("kv heads", sum, "num_kv_heads, all layers together");
  return spec;
}

// Nemotron-NAS (DeciLM): block_configs say for each layer whether it attends, and how many heads
// share a key-value head.
CacheSpec decilm(ConfigReader& config, const Family& family) {
  auto blocks = config.objects("block_configs");
  if (!blocks) return plain_rule(config, family);
  const Index layers = read_layers(config, family);
  if (static_cast<Index>(blocks->size()) != layers) {
    config.refuse(
        fmt::format("'block_configs' has {} entries for {} layers", blocks->size(), layers));
  }
  const Index heads = read_heads(config, family);
  const Index head_dim = read_head_dim(config, family, heads);
  CacheSpec spec;
  Index attending = 0;
  for (ConfigReader& block : *blocks) {
    auto attention = block.object("attention");
    if (!attention) block.refuse("says nothing about 'attention'");
    if (attention->flag("no_op").value_or(false) ||
        attention->flag("replace_with_linear").value_or(false)) {
      spec.add({.kind = "no attention"});
      continue;
    }
    Index kv_heads = attention->count({"num_key_value_heads"}, "kv heads").value_or(0);
    if (kv_heads == 0) {
      const Index group = attention->required_count({"n_heads_in_group"}, "heads in a group");
      if (heads % group != 0) {
        block.refuse(fmt::format("groups of {} heads do not divide {} heads", group, heads));
      }
      kv_heads = heads / group;
    }
    ++attending;
    spec.add(full_layer(kv_heads, head_dim, head_dim));
  }
  config.note("layers that attend", attending, "block_configs");
  return spec;
}

constexpr std::array kFamilies = {
    Family{"chatglm", {"ChatGLMConfig", 28, 32, 4096}, chatglm},
    Family{"dbrx", {"DbrxConfig", 24, 16, 2048, 1}, nested_kv_heads},
    Family{"deci", {}, decilm},
    Family{"decilm", {}, decilm},
    Family{"falcon", {"FalconConfig", 32, 71, 4544}, falcon},
    Family{"RefinedWeb", {"FalconConfig", 32, 71, 4544}, falcon},
    Family{"RefinedWebModel", {"FalconConfig", 32, 71, 4544}, falcon},
    Family{"gpt2", {"GPT2Config", 12, 12, 768}, gpt2},
    Family{"gpt_bigcode", {"GPTBigCodeConfig", 12, 12, 768}, bigcode},
    Family{"hf_olmo", {}, first_olmo},
    Family{"jetmoe", {"JetMoeConfig", 12, 0, 0}, jetmoe},
    Family{"mpt", {"MptConfig", 24, 16, 2048}, nested_kv_heads},
    Family{"nemotron-nas", {}, decilm},
    Family{"openelm", {}, openelm},
    Family{"plamo", {"PlamoConfig", 0, 0, 0}, plamo},
    Family{"qwen", {"QWenConfig", 32, 32, 4096}, qwen},
};

}  // namespace

std::span<const Family> head_rule_families() {
  return kFamilies;
}

}  // namespace attn
